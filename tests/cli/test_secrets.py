"""No password of --dsn in anything that a command prints or stores, whatever the form in which it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from psycopg import sql

from simrunner.runtime.server import embedded
from tests.cli.accepting import accept
from tests.cli.invoking import Ended, invoke, program

PASSWORD, KEY_PASSWORD = "Zebra-4711", "Okapi-0815"
ROLE = "owner_of_runs"
SPEC = "setup { CREATE TABLE t (a int); }\nteardown { DROP TABLE t; }\nsession s1\nstep one { SELECT 1; }\n"


class Guarded(NamedTuple):
    """A server that asks for a password."""

    host: str
    admin: str


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    """Yield a server on which roles of these tests must give their password: as it is, and one that is named like its own."""
    with embedded() as cluster, psycopg.connect(cluster.conninfo("postgres"), autocommit=True) as session:
        for role in (ROLE, PASSWORD):
            session.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEDB PASSWORD {}").format(sql.Identifier(role), PASSWORD))
        with asking(session, ROLE, PASSWORD):
            yield Guarded(cluster.parameters["host"], cluster.conninfo("postgres"))


@contextmanager
def asking(session: psycopg.Connection, *roles: str) -> Iterator[None]:
    """Let the server ask roles for their password for the time of the block."""
    row = session.execute("SHOW hba_file").fetchone()
    assert row is not None
    file = Path(row[0])
    before = file.read_text()
    file.write_text("".join(f'local all "{role}" scram-sha-256\n' for role in roles) + before)
    session.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        file.write_text(before)
        session.execute("SELECT pg_reload_conf()")


class Given(NamedTuple):
    """How the password reaches the command."""

    dsn: str
    environment: dict[str, str]


def keyword(server: Guarded, folder: Path) -> Given:
    return Given(f"host={server.host} port=5432 user={ROLE} password={PASSWORD} sslpassword={KEY_PASSWORD}", {})


def url(server: Guarded, folder: Path) -> Given:
    return Given(f"postgresql://{ROLE}:{PASSWORD}@/?host={quote(server.host)}&port=5432&sslpassword={KEY_PASSWORD}", {})


def variable(server: Guarded, folder: Path) -> Given:
    return Given(f"host={server.host} port=5432 user={ROLE}", {"PGPASSWORD": PASSWORD})


def passfile(server: Guarded, folder: Path) -> Given:
    return Given(f"host={server.host} port=5432 user={ROLE} passfile={_passfile(folder)}", {})


def passfile_variable(server: Guarded, folder: Path) -> Given:
    return Given(f"host={server.host} port=5432 user={ROLE}", {"PGPASSFILE": str(_passfile(folder))})


def service(server: Guarded, folder: Path) -> Given:
    file = folder / "services"
    file.write_text(f"[queue]\nhost={server.host}\nport=5432\nuser={ROLE}\npassword={PASSWORD}\n")
    return Given("service=queue", {"PGSERVICEFILE": str(file)})


def _passfile(folder: Path) -> Path:
    file = folder / "passfile"
    file.write_text(f"*:*:*:*:{PASSWORD}\n")
    file.chmod(0o600)
    return file


FORMS: tuple[Callable[[Guarded, Path], Given], ...] = (keyword, url, variable, passfile, passfile_variable, service)


class Desk:
    """A working directory of a command with a --dsn; what its commands print and store is looked through."""

    def __init__(self, server: Guarded, root: Path, form: Callable[[Guarded, Path], Given]) -> None:
        self.home, own, temporary = root / "home", root / "own", root / "temporary"
        for folder in (self.home, own, temporary):
            folder.mkdir()
        self.given = form(server, own)
        self._environment = {**self.given.environment, "TMPDIR": str(temporary)}
        self._kept = (self.home, temporary)

    def run(self, *words: str | Path, code: int) -> Ended:
        """Run a command, which must end with a code and expose nothing."""
        ended = program(*words, "--dsn", self.given.dsn, cwd=self.home, **self._environment)
        assert ended.code == code, ended
        assert self.exposed(ended) == []
        return ended

    def exposed(self, ended: Ended) -> list[str]:
        """Return where a password is: in what was printed, or in which files."""
        texts = {"standard output": ended.out, "standard error": ended.err, **texts_in(*self._kept)}
        return [name for name, text in texts.items() if PASSWORD in text or KEY_PASSWORD in text]


def texts_in(*folders: Path) -> dict[str, str]:
    """Return the content of every file; of Parquet files the values, which are compressed."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path): str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else _text(path) for path in files}


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


@pytest.fixture
def desk(guarded: Guarded, tmp_path: Path) -> Desk:
    return Desk(guarded, tmp_path, keyword)


def test_what_is_looked_for_is_found(desk: Desk, tmp_path: Path) -> None:
    """In what was printed, and in a Parquet file, whose bytes do not show it."""
    said, nothing = f"as {PASSWORD} said", Ended(0, "", "")
    assert desk.exposed(nothing) == []
    assert desk.exposed(Ended(0, said, KEY_PASSWORD)) == ["standard output", "standard error"]
    file = desk.home / "events.parquet"
    notes = pa.table({"note": [f"{number} {said}" for number in range(1000)]})
    pq.write_table(notes, file, compression="zstd", write_statistics=False)
    assert PASSWORD.encode() not in file.read_bytes()
    assert desk.exposed(nothing) == [str(file)]


@pytest.mark.parametrize("form", FORMS)
def test_a_run(guarded: Guarded, tmp_path: Path, form: Callable[[Guarded, Path], Given]) -> None:
    desk = Desk(guarded, tmp_path, form)
    desk.run("run", "smoke", code=0)
    assert len(texts_in(desk.home)) > 5


def test_the_password_was_needed(guarded: Guarded, tmp_path: Path) -> None:
    desk = Desk(guarded, tmp_path, lambda server, folder: Given(f"host={server.host} port=5432 user={ROLE}", {}))
    assert "no password supplied" in desk.run("run", "smoke", code=4).err


def test_a_campaign_and_what_follows_from_it(desk: Desk) -> None:
    what = "explore smoke --design mutants/unfenced-completion --seed 2 --strategy random --schedules 40 --stop-at-first"
    desk.run(*what.split(), code=1)
    (finding,) = (desk.home / "results/explore/latest/findings").iterdir()
    desk.run("replay", finding, code=1)
    desk.run("shrink", finding, "--seconds", "1", code=0)
    for words in (("analyze", finding), *(("export", finding / "shrunk", "--to", form) for form in ("spec", "pytest", "psql"))):
        result = invoke(*words)
        assert result.stdout
        assert desk.exposed(Ended(result.exit_code, result.stdout, result.stderr)) == []


def test_a_spec_and_the_doctor(desk: Desk) -> None:
    (desk.home / "one.spec").write_text(SPEC)
    assert "step one" in desk.run("spec", "one.spec", code=0).out
    examined = desk.run("doctor", "--design", "reference", code=0).out
    assert "PostgreSQL 18." in examined
    assert "clock-in-schema  --dsn" in examined
    assert desk.run("doctor", "--design", "reference", "--json", code=0).json()["facts"]["superuser"] == "no"


def test_an_acceptance(desk: Desk) -> None:
    ended = accept("reference", desk.home, "claim-boundary", dsn=desk.given.dsn)
    assert "decision" in ended.out
    assert desk.exposed(ended) == []


ENCODED, UNREADABLE = "percent-encoded", "is not a connection string"
WRONG = {
    "another password": ("host={host} port=5432 user=owner_of_runs password=Okapi-0815", "password authentication failed"),
    "a password that is the name of the role": (
        "host={host} port=5432 user=Zebra-4711 password=Zebra-4711 dbname=x",
        "does not exist",
    ),
    "a password that is the name of the database": (
        "host={host} port=5432 user=postgres password=Okapi-0815 dbname=Okapi-0815",
        "does not exist",
    ),
    "an @ in the URL": ("postgresql://u:has@Zebra-4711@127.0.0.1:1/d", ENCODED),
    "a / in the URL": ("postgresql://u:has/Zebra-4711@127.0.0.1:1/d", ENCODED),
    "words without a name": ("host=x password=Okapi-0815 Zebra-4711", UNREADABLE),
    "a time that is none": ("host=x password=Okapi-0815 connect_timeout=Okapi-0815", "connect_timeout"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_refusal(desk: Desk, guarded: Guarded, what: str) -> None:
    address, words = WRONG[what]
    for command in (("run", "smoke", "--results", desk.home), ("doctor", "--json")):
        result = invoke(*command, "--dsn", address.format(host=guarded.host))
        assert result.exit_code == (2 if words in (ENCODED, UNREADABLE) else 4)
        assert words in result.output
        assert desk.exposed(Ended(result.exit_code, result.stdout, result.stderr)) == []


def test_a_server_that_refuses_later(guarded: Guarded, tmp_path: Path) -> None:
    """The role may have two sessions, so that the run fails on its way; the server names the role, which is the password too."""
    address = f"host={guarded.host} port=5432 user={PASSWORD}"
    desk = Desk(guarded, tmp_path, lambda server, folder: Given(address, {"PGPASSWORD": PASSWORD}))
    with psycopg.connect(guarded.admin, autocommit=True) as session:
        for limit in (1, 2, 4):
            session.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(sql.Identifier(PASSWORD), sql.Literal(limit)))
            ended = desk.run("run", "smoke", code=4)
            assert "too many connections for role" in ended.err
            assert "***" in ended.err
