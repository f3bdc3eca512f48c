"""Specs that cannot be run as they are written: what is said, and what was printed until then."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from simrunner.errors import InputError, ServerError
from simrunner.limits import LIMITS
from simrunner.runtime.cluster import Cluster
from simrunner.runtime.isolation import blocks, player, watch
from simrunner.runtime.isolation.run import run_spec
from simrunner.spec.plan import plan_of

TABLE = "setup { CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); }\nteardown { DROP TABLE t; }\n"
HOLDER = TABLE + "session s1\nsetup { BEGIN; }\nstep hold { DELETE FROM t; }\nstep c1 { COMMIT; }\n"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that waits for a lock is given up soon: nothing in these specs would ever free it."""
    for module in (blocks, player, watch):
        monkeypatch.setattr(module, "LIMITS", replace(LIMITS, spec_blocked_seconds=0.2))


def output_of(text: str, cluster: Cluster) -> tuple[str, Exception | None]:
    written = bytearray()
    error = None
    try:
        run_spec(plan_of(text, "f.spec", "f"), cluster, written.extend)
    except (InputError, ServerError) as raised:
        error = raised
    return written.decode(), error


def test_a_permutation_that_steps_a_blocked_session(cluster: Cluster, short: None) -> None:
    spec = HOLDER + "session s2\nstep wait { DELETE FROM t; }\nstep next { SELECT 1; }\npermutation hold wait\n  next c1"
    written, error = output_of(spec, cluster)
    assert written.endswith("step wait: DELETE FROM t; <waiting ...>\n")
    assert isinstance(error, InputError)
    assert str(error) == (
        "f.spec:11:3: in the permutation hold wait next c1: session s2 is to take step next, but its step wait waits for "
        "a lock of session s1; let the step that frees it come before"
    )


def test_an_interleaving_that_steps_a_blocked_session(cluster: Cluster, short: None) -> None:
    spec = HOLDER + "session s2\nstep wait { DELETE FROM t; }\nstep next { SELECT 1; }\n"
    written, error = output_of(spec, cluster)
    assert written.count("starting permutation") == 3
    assert isinstance(error, InputError)
    assert str(error).startswith("f.spec:9:6: in the permutation hold wait next c1: session s2 is to take step next")


def test_a_step_that_nothing_frees_is_cancelled(cluster: Cluster, short: None) -> None:
    spec = (
        HOLDER
        + "teardown { ROLLBACK; }\nsession s2\nstep wait { DELETE FROM t; }\npermutation hold wait\npermutation hold c1 wait"
    )
    written, error = output_of(spec, cluster)
    assert error is None
    assert re.search(
        r"step wait: DELETE FROM t; <waiting \.\.\.>\n"
        r"isolationtester: canceling step wait after \d seconds\n"
        r"step wait: <\.\.\. completed>\n"
        r"ERROR:  canceling statement due to user request\n"
        r"\nstarting permutation: hold c1 wait\n",
        written,
    )


def test_a_teardown_that_waits_for_an_open_transaction(cluster: Cluster, short: None) -> None:
    written, error = output_of(HOLDER + "permutation hold", cluster)
    assert written.endswith("step hold: DELETE FROM t;\n")
    assert isinstance(error, InputError)
    assert str(error) == (
        "f.spec:2:10: teardown does not end; session s1 still holds a transaction open: "
        "end it in the session's last step or teardown"
    )


def test_steps_that_hold_each_other_by_markers(cluster: Cluster) -> None:
    spec = "session s1 step a { }\nsession s2 step b { }\npermutation a(b notices 1) b(a)"
    written, error = output_of(spec, cluster)
    assert written.endswith("step a:  <waiting ...>\nstep b:  <waiting ...>\n")
    assert isinstance(error, InputError)
    assert str(error).startswith("f.spec:3:13: in the permutation a b: a and b wait for each other")


def test_a_session_whose_step_is_held_for_ever(cluster: Cluster) -> None:
    spec = "session s1 step a { } step next { }\nsession s2 step b { }\npermutation a(b notices 1) next b"
    written, error = output_of(spec, cluster)
    assert written.endswith("step a:  <waiting ...>\n")
    assert isinstance(error, InputError)
    assert "session s1 cannot take step next: its earlier step is held by a marker" in str(error)


@pytest.mark.parametrize(
    ("spec", "what", "place"),
    [
        ("setup { SELECT 1 / 0; }\nsession s step a { }", "setup", "1:7"),
        ("session s\nsetup { SELECT 1 / 0; }\nstep a { }", "setup of session s", "2:7"),
        ("setup { }\nsession s step a { }", "setup", "1:7"),
    ],
)
def test_a_setup_that_fails(cluster: Cluster, spec: str, what: str, place: str) -> None:
    written, error = output_of(spec, cluster)
    assert f"\n{what} failed: " in written
    assert isinstance(error, InputError)
    assert str(error).startswith(f"f.spec:{place}: {what} failed: ")


def test_copy_to_the_client_is_refused(cluster: Cluster) -> None:
    written, error = output_of("session s step a { COPY (SELECT 1) TO STDOUT; }", cluster)
    assert written.endswith("unexpected result status: PGRES_COPY_OUT\n")
    assert isinstance(error, InputError)
    assert str(error) == "f.spec:1:16: COPY from or to the client is not possible in a spec; use INSERT or SELECT"


def test_copy_in_a_block_is_refused(cluster: Cluster) -> None:
    error = output_of("setup { COPY pg_class TO STDOUT; }\nsession s step a { }", cluster)[1]
    assert isinstance(error, InputError)
    assert str(error).startswith("f.spec:1:7: COPY from or to the client is not possible")


def test_a_session_that_lost_its_connection_cannot_go_on(cluster: Cluster) -> None:
    spec = "session s step a { SELECT pg_terminate_backend(pg_backend_pid()); } step b { }"
    written, error = output_of(spec, cluster)
    assert "FATAL:  terminating connection due to administrator command\nserver closed the connection unexpectedly\n" in written
    assert isinstance(error, ServerError)
    assert str(error).startswith("session s has lost its connection: ")
