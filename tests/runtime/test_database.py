"""Databases of runs, in the embedded cluster and on a server that belongs to somebody else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from simrunner.config import load_design
from simrunner.errors import DatabaseRefused, InputError, ServerError
from simrunner.limits import LIMITS
from simrunner.runtime import clock, external, homes, libpq, shared_objects, template
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.database import Database, create, database_name
from simrunner.runtime.isolation.database import plain_database
from simrunner.runtime.observer import Observer
from simrunner.runtime.server import embedded
from simrunner.runtime.settings import session_settings

Connection = psycopg.Connection[tuple[object, ...]]


@contextmanager
def connected(conninfo: str) -> Iterator[Connection]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


def values(connection: Connection, query: str) -> list[str]:
    return [str(row[0]) for row in connection.execute(query.encode())]


def run_databases(connection: Connection) -> list[str]:
    return values(connection, "SELECT datname FROM pg_database WHERE starts_with(datname, 'simrunner_run_')")


def test_names_are_valid_and_differ() -> None:
    names = [database_name("Évaluation/High depth " + "x" * 90) for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("simrunner_run_valuation_high_depth") and len(name) < 64 for name in names)


def test_sessions_begin_with_the_settings_of_a_run(database: Database) -> None:
    with connected(database.conninfo("worker-a.1")) as session:
        wanted = {
            **session_settings(18, superuser=True),
            "search_path": "design, pg_catalog",
            "application_name": "simrunner:worker-a.1",
        }
        assert {name: values(session, f"SHOW {name}")[0] for name in wanted} == wanted
        session.execute("SET search_path = public; SET work_mem = '64kB'; RESET ALL; CREATE TABLE jobs (id int)")
        assert values(session, "SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'jobs'") == ["design"]
        assert values(session, "SHOW work_mem") == ["4MB"]


def test_it_is_dropped_at_the_end_even_with_stopped_sessions(cluster: Cluster) -> None:
    def fail(database: Database) -> None:
        session = psycopg.connect(database.conninfo("worker-a.1"))
        os.kill(session.info.backend_pid, signal.SIGSTOP)
        session.close()
        raise RuntimeError

    with pytest.raises(RuntimeError), create(cluster, "stopped") as database:
        fail(database)
    with connected(cluster.conninfo("postgres")) as session:
        assert database.name not in run_databases(session)


def test_a_run_leaves_no_roles_and_no_settings_of_roles(cluster: Cluster) -> None:
    with create(cluster, "roles") as database, connected(database.conninfo("setup")) as session:
        session.execute(
            "CREATE ROLE app; CREATE TABLE jobs (id int); GRANT ALL ON jobs TO app; ALTER ROLE postgres SET enable_seqscan = off"
        )
        session.execute("ALTER ROLE ALL SET enable_sort = off")
    with connected(cluster.conninfo("postgres")) as session:
        assert values(session, "SELECT count(*) FROM pg_roles WHERE rolname = 'app'") == ["0"]
        assert (values(session, "SHOW enable_seqscan"), values(session, "SHOW enable_sort")) == (["on"], ["on"])


def test_databases_that_designs_made_are_dropped_at_the_next_start(cluster: Cluster) -> None:
    with connected(cluster.conninfo("postgres")) as session:
        session.execute("CREATE DATABASE made_by_a_design; ")
        shared_objects.drop_leftovers(session)
        left = values(session, "SELECT datname FROM pg_database ORDER BY 1")
    assert left == ["postgres", template.template_name(cluster), "template0", "template1"]


FIXTURE = """
CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text);
CREATE TABLE events (job int REFERENCES jobs);
CREATE SEQUENCE tickets;
"""
USE = "INSERT INTO jobs (payload) SELECT nextval('tickets')::text FROM generate_series(1, 50); INSERT INTO events VALUES (1)"
STATE = """
SELECT (SELECT count(*) FROM pg_statistic WHERE starelid >= 16384) || ' statistics, '
    || (SELECT string_agg(relname || ' ' || relpages || ' ' || reltuples, ', ' ORDER BY relname)
        FROM pg_class WHERE oid >= 16384 AND relkind = 'r')
"""
FIRST = "INSERT INTO jobs (payload) VALUES (nextval('tickets')) RETURNING ctid || ' ' || id || ' ' || payload"


def test_truncate_restores_the_physical_state(database: Database) -> None:
    with connected(database.conninfo("setup")) as session:
        session.execute(FIXTURE)
        fresh = values(session, STATE)
        session.execute(USE)
        session.execute("ANALYZE")
        assert values(session, STATE) != fresh
        database.truncate(["jobs", "design.events"])
        assert values(session, STATE) == fresh
        assert values(session, FIRST) == ["(0,1) 1 1"]


def test_truncate_says_what_locks_it_out(database: Database) -> None:
    truncate = database.truncate_sql(["jobs"])
    with connected(database.conninfo("setup")) as session, psycopg.connect(database.conninfo("worker-a.1")) as holder:
        session.execute(FIXTURE)
        holder.execute("SELECT FROM jobs")
        session.execute("SET lock_timeout = '10ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            session.execute(truncate.encode())


def test_recreate_ends_sessions_and_undoes_everything(database: Database) -> None:
    with psycopg.connect(database.conninfo("worker-a.1"), autocommit=True) as session:
        session.execute(FIXTURE)
        database.recreate()
        with pytest.raises(psycopg.OperationalError):
            session.execute("SELECT 1")
    with connected(database.conninfo("setup")) as fresh:
        assert values(fresh, "SELECT count(*) FROM pg_class WHERE oid >= 16384") == ["0"]


def test_terminate_sessions_ends_those_of_this_database_alone(cluster: Cluster, database: Database) -> None:
    with (
        create(cluster, "other") as other,
        connected(other.conninfo("worker-a.1")) as elsewhere,
        psycopg.connect(cluster.conninfo(database.name).replace("simrunner:admin", "psql")) as guest,
        psycopg.connect(database.conninfo("worker-a.1")) as ours,
    ):
        database.terminate_sessions()
        with pytest.raises(psycopg.OperationalError):
            ours.execute("SELECT 1")
        assert values(guest, "SELECT 1") == values(elsewhere, "SELECT 1") == ["1"]


def test_a_session_that_leaves_by_itself_while_another_is_ended_has_ended(cluster: Cluster, database: Database) -> None:
    """The others leave while the one that is stopped is waited for; whichever comes after it is no more there to be ended."""
    sessions = [libpq.connect(database.conninfo(f"worker-{number}")) for number in range(3)]
    pids = [session.backend_pid for session in sessions]
    os.kill(pids[1], signal.SIGSTOP)
    with (
        connected(cluster.conninfo("postgres")) as ending,
        connected(cluster.conninfo("postgres")) as look,
        ThreadPoolExecutor() as pool,
    ):
        ended = pool.submit(homes.end_sessions, ending, database.name)
        waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'BackendTermination'"
        while not values(look, waiting):
            continue
        for session in sessions:
            session.finish()
        while len(values(look, f"SELECT pid FROM pg_stat_activity WHERE pid IN ({pids[0]}, {pids[2]})")):
            continue
        os.kill(pids[1], signal.SIGCONT)
        ended.result()  # it raises where it takes one that has left for one that stays
        assert values(look, f"SELECT pid FROM pg_stat_activity WHERE pid IN ({', '.join(map(str, pids))})") == []


def test_a_session_that_does_not_end_is_told(cluster: Cluster, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "LIMITS", replace(LIMITS, backend_gone_seconds=0.01))
    session = libpq.connect(database.conninfo("worker-a"))
    os.kill(session.backend_pid, signal.SIGSTOP)
    told = rf"did not end within 0.01 s: server processes {session.backend_pid}"
    with connected(cluster.conninfo("postgres")) as ending, pytest.raises(ServerError, match=told):
        homes.end_sessions(ending, database.name)
    os.kill(session.backend_pid, signal.SIGCONT)
    session.finish()


def test_a_template_of_other_sql_is_replaced(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(cluster.conninfo("postgres")) as session:
        before = template.template_name(cluster)
        monkeypatch.setattr(clock, "install_sql", lambda *_, **__: "CREATE SCHEMA other;")
        session.execute("CREATE DATABASE simrunner_template_new")  # left by a command that was killed
        template.ensure_template(cluster, session)
        found = "SELECT datname FROM pg_database WHERE starts_with(datname, 'simrunner_template_')"
        assert values(session, found) == [template.template_name(cluster)] != [before]
        monkeypatch.undo()
        template.ensure_template(cluster, session)
        assert values(session, found) == [before]


# servers of somebody else


@pytest.fixture(scope="module")
def foreign() -> Iterator[Cluster]:
    """Yield a server that stands for somebody else's, with a role that may create databases and one that may not."""
    with embedded() as cluster:
        with connected(cluster.conninfo("postgres")) as session:
            session.execute("CREATE ROLE maker LOGIN CREATEDB PASSWORD 'hunter2'; CREATE ROLE guest LOGIN")
        yield cluster


def dsn(cluster: Cluster, role: str = "postgres", dbname: str | None = None) -> str:
    named = {} if dbname is None else {"dbname": dbname}
    return make_conninfo("", host=cluster.parameters["host"], port="5432", user=role, password="hunter2", **named)


@pytest.fixture
def named(foreign: Cluster) -> Iterator[str]:
    with connected(foreign.conninfo("postgres")) as session:
        session.execute("CREATE DATABASE named OWNER maker TEMPLATE template0")
        yield "named"
        session.execute("DROP DATABASE named WITH (FORCE)")


def virtual_now(session: Connection, call: str = "now()") -> str:
    session.execute("SET simrunner.txn_time = '2026-09-22 12:00+00'")
    return values(session, f"SELECT {call}::text")[0]


@pytest.mark.parametrize(("role", "superuser"), [("postgres", True), ("maker", False)])
def test_a_database_is_created_and_dropped(foreign: Cluster, role: str, superuser: bool) -> None:
    with external.connect(dsn(foreign, role)) as cluster:
        assert (cluster.major, cluster.superuser, cluster.can_signal_backends) == (18, superuser, False)
        with create(cluster, "external") as database, connected(database.conninfo("worker-a.1")) as session:
            session.execute("CREATE TABLE jobs (id int, at timestamptz DEFAULT now())")
            assert values(session, "SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'jobs'") == ["design"]
            assert virtual_now(session) == "2026-09-22 12:00:00+00"
            assert (virtual_now(session, "pg_catalog.now()") == "2026-09-22 12:00:00+00") is superuser
            database.truncate(["jobs"])
            database.terminate_sessions()
            database.recreate()
            with connected(database.conninfo("worker-a.1")) as again:
                assert virtual_now(again) == "2026-09-22 12:00:00+00"
                assert values(again, "SELECT count(*) FROM pg_class WHERE relname = 'jobs'") == ["0"]
    with connected(foreign.conninfo("postgres")) as session:
        assert run_databases(session) == []


def test_databases_of_killed_runs_are_dropped_and_those_of_living_ones_are_not(foreign: Cluster) -> None:
    maker = dsn(foreign, "maker")
    with external.connect(maker) as first, create(first, "living") as living, connected(foreign.conninfo("postgres")) as session:
        killed = homes.CreatedHome(first, "simrunner_run_killed")
        killed.make()
        killed.let_go()  # as a kill does
        for name, owner, mark in (("other_role", "guest", homes.MARK), ("own", "maker", "mine")):
            session.execute(f"CREATE DATABASE simrunner_run_{name} OWNER {owner}".encode())
            session.execute(f"COMMENT ON DATABASE simrunner_run_{name} IS '{mark}'".encode())
        with external.connect(maker):
            assert sorted(run_databases(session)) == sorted([living.name, "simrunner_run_other_role", "simrunner_run_own"])
        session.execute("DROP DATABASE simrunner_run_other_role")
        session.execute("DROP DATABASE simrunner_run_own")


@pytest.mark.parametrize("role", ["postgres", "maker"])
def test_a_session_of_somebody_else_is_never_ended(foreign: Cluster, role: str) -> None:
    """It looks into the database of a run: that stays as long as it does, and the next command drops it."""

    with ExitStack() as guests, connected(foreign.conninfo("postgres")) as session:
        with (
            external.connect(dsn(foreign, role)) as cluster,
            pytest.raises(ServerError, match="not simrunner's is in it \\(user guest, process"),
            create(cluster, "watched") as database,
        ):
            guest = guests.enter_context(connected(dsn(foreign, "guest", database.name)))
        with external.connect(dsn(foreign, role)):
            assert run_databases(session) == [database.name]
        assert values(guest, "SELECT 1") == ["1"]
        guest.close()
        with external.connect(dsn(foreign, role)):
            assert run_databases(session) == []


def test_a_role_that_may_not_create_databases_is_told_what_to_do(foreign: Cluster) -> None:
    with (
        pytest.raises(DatabaseRefused, match="give it CREATEDB, or name an empty database"),
        external.connect(dsn(foreign, "guest")),
    ):
        pass


def test_an_empty_database_named_on_purpose_is_used_and_left_empty(foreign: Cluster, named: str) -> None:
    address = dsn(foreign, "maker", named)
    with (
        external.connect(address) as cluster,
        create(cluster, "named") as database,
        connected(database.conninfo("worker-a.1")) as session,
    ):
        assert database.name == named
        session.execute("CREATE TABLE jobs (id int); CREATE SCHEMA library; CREATE TABLE library.jobs (id int)")
        assert virtual_now(session) == "2026-09-22 12:00:00+00"
        database.recreate()
        assert values(session, "SELECT count(*) FROM pg_class WHERE relname = 'jobs'") == ["0"]
    with external.connect(address):
        pass


CONTENTS = {
    "schema": "CREATE SCHEMA design",
    "table": "CREATE TABLE public.precious (id int)",
    "function": "CREATE FUNCTION public.precious() RETURNS int LANGUAGE sql RETURN 1",
    "type": "CREATE TYPE public.precious AS ENUM ('a')",
    "large object": "SELECT lo_create(4711)",
    "publication": "CREATE PUBLICATION precious FOR ALL TABLES",
    "cast": "CREATE CAST (text AS inet) WITH INOUT",
    "other object, collation": "CREATE COLLATION public.precious (provider = libc, locale = 'C')",
    "other object, text search": "CREATE TEXT SEARCH DICTIONARY public.precious (TEMPLATE = simple)",
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_database_that_is_not_empty_is_refused_and_left_alone(foreign: Cluster, named: str, kind: str) -> None:
    with connected(foreign.conninfo(named)) as session:
        session.execute(CONTENTS[kind].encode())
        before = values(session, "SELECT oid FROM pg_namespace ORDER BY 1")
        with (
            pytest.raises(DatabaseRefused, match=f"named is not empty \\({kind}"),
            external.connect(dsn(foreign, "postgres", named)),
        ):
            pass
        assert values(session, "SELECT oid FROM pg_namespace ORDER BY 1") == before


def test_a_named_database_serves_one_command_at_a_time(foreign: Cluster, named: str) -> None:
    address = dsn(foreign, "maker", named)
    refused = pytest.raises(DatabaseRefused, match="in use by another simrunner command")
    with external.connect(address), refused, external.connect(address):
        pass


def test_what_a_killed_command_left_in_a_named_database_is_removed(foreign: Cluster, named: str) -> None:
    address = dsn(foreign, "maker", named)
    with external.connect(address) as cluster:
        homes.home_of(cluster, "").make()  # and no remove: the command was killed
    left = connected(make_conninfo(address, application_name="simrunner:worker-a.1"))
    with left as session, external.connect(address), pytest.raises(psycopg.OperationalError):
        session.execute("SELECT 1")


def test_what_somebody_made_since_then_is_not(foreign: Cluster, named: str) -> None:
    """Only schemas of our names are taken for leftovers, whoever owns the others."""
    address = dsn(foreign, "maker", named)
    with external.connect(address) as cluster:
        homes.home_of(cluster, "").make()
    with connected(address) as session:
        session.execute("CREATE SCHEMA precious; CREATE TABLE precious.jobs (id int)")
        with pytest.raises(DatabaseRefused, match="not empty \\(schema precious"), external.connect(address):
            pass
        assert values(session, "SELECT count(*) FROM precious.jobs") == ["0"]


@pytest.mark.parametrize("given", ["dbname=postgres", "dbname=template1", "service=queue", "PGDATABASE"])
def test_a_database_that_was_not_named_on_purpose_is_not_worked_in(
    foreign: Cluster, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """Not the maintenance database, nor one that only the environment names: a database of our own is created."""
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    (tmp_path / "services").write_text(f"[queue]\ndbname={named}\n")
    if given == "PGDATABASE":
        monkeypatch.setenv(given, named)
    address = make_conninfo(dsn(foreign, "maker"), **dict([given.split("=")] if "=" in given else []))
    with external.connect(address) as cluster, create(cluster, "elsewhere") as database:
        assert cluster.named is None
        assert database.name.startswith("simrunner_run_elsewhere")
        for other in ("postgres", "template1", named):
            with connected(foreign.conninfo(other)) as session:
                assert values(session, "SELECT nspname FROM pg_namespace WHERE oid >= 16384") == []
                assert values(session, "SELECT relname FROM pg_class WHERE oid >= 16384") == []


def test_the_database_of_a_spec_is_marked_too(foreign: Cluster) -> None:
    with (
        external.connect(dsn(foreign, "maker")) as cluster,
        plain_database(cluster) as name,
        connected(cluster.conninfo(name)) as own,
    ):
        query = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
        assert values(own, query) == [homes.MARK]


@pytest.mark.parametrize(
    ("role", "application", "ends"),
    [("maker", "simrunner:worker-a", True), ("maker", "psql", False), ("guest", "simrunner:worker-a", False)],
)
def test_only_a_session_of_our_own_is_terminated(foreign: Cluster, role: str, application: str, ends: bool) -> None:
    with external.connect(dsn(foreign, "maker")) as cluster, create(cluster, "terminated") as database:
        observer = Observer(libpq.connect(database.conninfo("observer")), load_design("reference"))
        with connected(make_conninfo(dsn(foreign, role, database.name), application_name=application)) as session:
            observer.terminate(session.info.backend_pid)
            if ends:
                with pytest.raises(psycopg.OperationalError):
                    session.execute("SELECT 1")
            else:
                assert values(session, "SELECT 1") == ["1"]
        observer.connection.finish()


ODD_NAMES = [
    "quote\"s and 'quotes'",
    "Upper Case",
    "gr\u00fcn \u2603",
    "dbname=postgres host=/nowhere",
    "postgresql://elsewhere/db",
    'x"; DROP DATABASE bystander; --',
    "%s {} \\ $1",
    "simrunner_run_named",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_name_names_that_database_and_no_other(foreign: Cluster, name: str) -> None:
    """Role and database have the odd name; a database that nobody named stays as it is."""
    quoted = sql.Identifier(name)
    with connected(foreign.conninfo("postgres")) as session:
        session.execute("CREATE DATABASE bystander")
        session.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB").format(quoted))
        session.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(quoted, quoted))
        before = databases(session)
        try:
            for dbname in (name, None):
                with external.connect(dsn(foreign, name, dbname)) as cluster, create(cluster, "odd") as database:
                    assert (database.name == name) is (dbname is not None)
                    with connected(database.conninfo("worker-a.1")) as worker:
                        assert values(worker, "SELECT current_database()") == [database.name]
                        worker.execute("CREATE TABLE jobs (id int)")
                    database.truncate(["jobs"])
                    database.terminate_sessions()
                    database.recreate()
                assert databases(session) == before
            with connected(dsn(foreign, name, name)) as left:
                assert values(left, "SELECT nspname FROM pg_namespace WHERE oid >= 16384") == []
        finally:
            for each in (quoted, sql.Identifier("bystander")):
                session.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(each))
            session.execute(sql.SQL("DROP ROLE {}").format(quoted))


def databases(connection: Connection) -> list[str]:
    return values(connection, "SELECT oid || ' ' || datname FROM pg_database ORDER BY 1")


def test_a_role_that_may_not_use_the_named_database(foreign: Cluster, named: str) -> None:
    with pytest.raises(DatabaseRefused, match="may not create schemas"), external.connect(dsn(foreign, "guest", named)):
        pass


def test_a_server_that_is_too_old(foreign: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "OLDEST_MAJOR", 99)
    with pytest.raises(ServerError, match="PostgreSQL 18; simrunner needs 99"), external.connect(dsn(foreign)):
        pass


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("postgresql://someone:hunter2@localhost:1/jobs", ServerError),
        ("host=/nowhere user=someone password=hunter2", ServerError),
        ("postgresql://someone:hunter2@nowhere.invalid/jobs", ServerError),
        ("hunter2", InputError),
        ("postgresql://someone:hunter2%zz@localhost/jobs", InputError),
        ("postgresql://someone:has@hunter2@127.0.0.1:1/jobs", InputError),
        ("postgresql://someone:has/hunter2@127.0.0.1:1/jobs", InputError),
        ("postgresql://someone:has?hunter2@127.0.0.1:1/jobs", InputError),
        ("postgres://someone@127.0.0.1:1/jobs?password=hunter2", ServerError),
        ("host=/nowhere user=hunter2 password=hunter2", ServerError),
        ("host=/nowhere user=someone dbname=hunter2 sslpassword=hunter2", ServerError),
        ("host=nowhere.invalid user=hunter2 password=hunter2", ServerError),
        ("host=/nowhere password=hunter2 \udcff", InputError),
        ("host=/nowhere connect_timeout=hunter2 password=hunter2", ServerError),
    ],
)
def test_failures_do_not_tell_the_password(address: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as failure, external.connect(address):
        pass
    assert "hunter2" not in str(failure.value)
    assert failure.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["postgresql://u:p%40ss@h/d", "postgresql://u@h,i:5433/d?options=-c%20a%3Db", "postgresql:///d"]
)
def test_an_address_that_libpq_reads_as_it_was_meant_is_not_refused(address: str) -> None:
    assert "dbname=d" in external.safe_dsn(address)


def test_what_may_be_shown_of_a_dsn() -> None:
    shown = external.safe_dsn("postgresql://someone:hunter2@db.example:5433/jobs?sslpassword=hunter2&passfile=/secret")
    assert shown == "user=someone dbname=jobs host=db.example port=5433"


def test_a_cluster_does_not_show_its_parameters(foreign: Cluster) -> None:
    with external.connect(dsn(foreign)) as cluster:
        assert "hunter2" not in repr(cluster)
