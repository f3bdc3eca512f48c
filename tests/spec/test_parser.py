"""Specs as they are read: the whole grammar, and what is said about a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from simrunner.errors import InputError
from simrunner.spec.model import Block, Marker, Mention, Place, Session, Spec, Step
from simrunner.spec.parser import parse
from simrunner.spec.plan import plan_of, read_plan

WHOLE = """\
# a comment
setup { CREATE TABLE t (); }
setup {
  SELECT 1; # no comment
}
teardown{DROP TABLE t}

session s1 setup { BEGIN; }
step a1 {\t INSERT;\t }
step "a ""2"" {" { } teardown { COMMIT; }
session "setup"
step été$1 { x }
permutation a1(*) # between
  été$1 ( a1 , "a ""2"" {" notices 12,*)
permutation a1
"""


def test_the_whole_grammar() -> None:
    steps = Step("a1", "INSERT;", 0, Place(9, 6)), Step('a "2" {', "", 0, Place(10, 6))
    assert parse(WHOLE, "f") == Spec(
        setups=(Block("CREATE TABLE t ();", Place(2, 7)), Block("\n  SELECT 1; # no comment\n", Place(3, 7))),
        teardown=Block("DROP TABLE t", Place(6, 9)),
        sessions=(
            Session("s1", Block("BEGIN;", Place(8, 18)), steps, Block("COMMIT;", Place(10, 31))),
            Session("setup", None, (Step("été$1", "x", 1, Place(12, 6)),), None),
        ),
        permutations=(
            (
                Mention("a1", (Marker(None, None, Place(13, 16)),), Place(13, 13)),
                Mention(
                    "été$1",
                    (Marker("a1", None, Place(14, 11)), Marker('a "2" {', 12, Place(14, 16)), Marker(None, None, Place(14, 39))),
                    Place(14, 3),
                ),
            ),
            (Mention("a1", (), Place(15, 13)),),
        ),
    )


ONE = "session s\nstep a { A }\nstep b { B }\nsession t\nstep c { C }\n"

MISTAKES = [
    ("", "1:1: expected 'setup', 'teardown' or 'session', found the end of the file"),
    ("  # nothing\n", "2:1: expected 'setup', 'teardown' or 'session', found the end of the file"),
    ("setup SELECT", "1:7: expected a { sql } block, found the name SELECT"),
    ("teardown { }\nsetup { }", "2:1: expected 'session', found 'setup'"),
    ("session step", "1:9: expected a name, found 'step'"),
    ("session s\nteardown { }", "2:1: expected 'setup' or 'step', found 'teardown'"),
    ("session s step a", "1:17: expected a { sql } block, found the end of the file"),
    (
        "session s step a { } b",
        "1:22: expected 'step', 'teardown', 'session', 'permutation' or the end of the file, found the name b",
    ),
    (ONE + "permutation", "6:12: expected a name, found the end of the file"),
    (ONE + "permutation a,b", "6:14: expected '(', a name, 'permutation' or the end of the file, found ','"),
    (ONE + "permutation a()", "6:15: expected '*' or a name, found ')'"),
    (ONE + "permutation a(c notices)", "6:24: expected an integer, found ')'"),
    (ONE + "permutation a(c d)", "6:17: expected 'notices', ',' or ')', found the name d"),
    (ONE + "permutation a(c notices 1234567890)", "6:25: expected a number of at most nine digits"),
    (ONE + "permutation a(* 5)", "6:17: expected ',' or ')', found an integer 5"),
    ("session s\nstep a { A", "2:8: expected a closing '}' for this block of SQL, found the end of the file"),
    ('session "s\nstep', "1:9: expected a closing '\"' on the same line"),
    ("session s step a { A\0 }", "1:18: this holds a character with code 0, which cannot be sent"),
    ("session s; step a { A }", "1:10: expected a keyword, a name or a block of SQL, found the character ';'"),
    ('session "s\0" step a { A }', "1:9: this holds a character with code 0, which cannot be sent"),
    (ONE + "session u step a { A }", "6:16: there are two steps named a; the first is at line 2"),
    (ONE + "permutation a\n\nb A", "8:3: the permutation names the step A, which no session has"),
    (ONE + "permutation a c(b)", "6:17: the step c waits for b, which is not in this permutation"),
    (ONE + "permutation a(*) b(a notices 1)", "6:20: the step b cannot wait for a, a step of its own session"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        plan_of(text, "dir/f.spec", "f")
    assert str(raised.value) == f"dir/f.spec:{said}"


def test_steps_that_no_permutation_uses_are_listed_in_the_order_of_their_bytes() -> None:
    text = "session s step b { } step é { } step a { } step B { } step used { }"
    assert plan_of(f"{text} permutation used", "f", "f").unused == ("B", "a", "b", "é")
    assert plan_of(text, "f", "f").unused == ()


def test_without_permutations_all_interleavings_are_run() -> None:
    plan = plan_of(ONE, "f", "f")
    assert ["".join(move.step.name for move in moves) for moves in plan.permutations()] == ["abc", "acb", "cab"]


def test_a_file_that_is_not_utf8_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "latin.spec"
    path.write_bytes(b"session s step caf\xe9 { SELECT '\xe9' }")
    (step,) = read_plan(path).spec.sessions[0].steps
    assert step.sql.encode(errors="surrogateescape") == b"SELECT '\xe9'"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.spec: cannot be read: No such file"):
        read_plan(tmp_path / "nowhere.spec")
    with pytest.raises(InputError, match="cannot be read: it is not a file"):
        read_plan(tmp_path)
