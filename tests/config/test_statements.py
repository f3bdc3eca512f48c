"""Splitting SQL files, finding parameters, rewriting time keywords: what is sent for what is written."""

from __future__ import annotations

import pytest

from simrunner.config.operation import SqlFile, read_operation
from simrunner.errors import DesignError
from simrunner.model.design import Statement


def read(text: str, operation: str = "claim") -> tuple[Statement, ...]:
    name = f"{operation}.sql"
    return read_operation(SqlFile(operation, name, name, text), {}).statements


@pytest.mark.parametrize(
    ("text", "sent", "parameters"),
    [
        ("SELECT :'token'", "SELECT $1", ("token",)),
        ("SELECT :batch", "SELECT $1", ("batch",)),
        ("SELECT :batch, :'token', :batch", "SELECT $1, $2, $1", ("batch", "token")),
        ("SELECT :'job_id'::bigint", "SELECT $1::bigint", ("job_id",)),
        ("SELECT :lease_ms/1000.0", "SELECT $1/1000.0", ("lease_ms",)),
        ("SELECT :::batch", "SELECT ::$1", ("batch",)),
        ("SELECT a::text, b :: int", "SELECT a::text, b :: int", ()),
        ("SELECT x[1:batch], x[:batch], x[a[:batch]:batch]", "SELECT x[1:batch], x[:batch], x[a[:batch]:batch]", ()),
        ("SELECT x[1], :batch", "SELECT x[1], $1", ("batch",)),
        ("SELECT json_object('a': batch)", "SELECT json_object('a': batch)", ()),
        ("SELECT ':batch', E'it\\'s :batch', ':''token'''", "SELECT ':batch', E'it\\'s :batch', ':''token'''", ()),
        ("SELECT 'a\\', :batch", "SELECT 'a\\', $1", ("batch",)),
        ('SELECT "a :batch"', 'SELECT "a :batch"', ()),
        ("SELECT $$:batch$$, $t$ :'token' $$ $t$", "SELECT $$:batch$$, $t$ :'token' $$ $t$", ()),
        ("SELECT /* :batch /* ' */ */ 1 -- :batch", "SELECT /* :batch /* ' */ */ 1", ()),
        ("f(batch => :batch, x := 1)", "f(batch => $1, x := 1)", ("batch",)),
        ("EXPLAIN SELECT :batch", "EXPLAIN SELECT $1", ("batch",)),
        ("CALL p(:'token')", "CALL p($1)", ("token",)),
        ("SELECT '日本', :batch", "SELECT '日本', $1", ("batch",)),
    ],
)
def test_a_parameter_becomes_a_number_and_nothing_else_does(text: str, sent: str, parameters: tuple[str, ...]) -> None:
    (statement,) = read(text)
    assert (statement.sent, statement.parameters) == (sent, parameters)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("SELECT CURRENT_TIMESTAMP", "SELECT now()"),
        ("SELECT current_timestamp(3)", "SELECT (now()::timestamptz(3))"),
        ("SELECT LocalTimestamp", "SELECT (now()::timestamp)"),
        ("SELECT localtimestamp ( 0 )", "SELECT (now()::timestamp(0))"),
        ("SELECT current_date - 1", "SELECT (now()::date) - 1"),
        ("SELECT current_time, localtime(2)", "SELECT (now()::timetz), (now()::time(2))"),
        ("SELECT f(current_date)", "SELECT f((now()::date))"),
        ("SELECT t.current_date, 1 AS localtime", "SELECT t.current_date, 1 AS localtime"),
        ("SELECT \"current_date\", 'current_date'", "SELECT \"current_date\", 'current_date'"),
        ("SELECT $$current_date$$", "SELECT $$current_date$$"),
        ("DO $$ BEGIN x := current_date; END $$", "DO $$ BEGIN x := (now()::date); END $$"),
        (
            "CREATE OR REPLACE FUNCTION f() RETURNS date AS $f$\nBEGIN\n EXECUTE $q$SELECT current_date$q$;\nEND $f$",
            "CREATE OR REPLACE FUNCTION f() RETURNS date AS $f$\nBEGIN\n EXECUTE $q$SELECT (now()::date)$q$;\nEND $f$",
        ),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$ return \"it's current_date$$",
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$ return \"it's current_date$$",
        ),
        (
            "CREATE PROCEDURE p() BEGIN ATOMIC SELECT current_date; SELECT CASE WHEN a THEN 1 END; END",
            "CREATE PROCEDURE p() BEGIN ATOMIC SELECT (now()::date); SELECT CASE WHEN a THEN 1 END; END",
        ),
        ("CREATE RULE r AS ON UPDATE TO t DO (SELECT 1; SELECT 2)", "CREATE RULE r AS ON UPDATE TO t DO (SELECT 1; SELECT 2)"),
    ],
)
def test_a_time_keyword_becomes_a_call(text: str, sent: str) -> None:
    assert [statement.sent for statement in read(text, "schema")] == [sent]


def test_statements_know_their_text_and_their_line() -> None:
    text = "-- first\n\nSELECT 1 ; -- one\n/* two\n*/ SELECT\n  ';' ;;\nDECLARE c CURSOR FOR SELECT 3"
    assert [(statement.text, statement.line) for statement in read(text)] == [
        ("SELECT 1", 3),
        ("SELECT\n  ';'", 5),
        ("DECLARE c CURSOR FOR SELECT 3", 7),
    ]


def test_rewriting_keeps_every_line_break() -> None:
    (statement,) = read("SELECT current_timestamp\n(\n3)\n, :batch")
    assert statement.sent == "SELECT (now()::timestamptz(3))\n\n\n, $1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT :worker_id", "claim.sql:1: :worker_id: the parameter worker_id is text: write :'worker_id'"),
        ("SELECT\n\n :'batch'", "claim.sql:3: :'batch': the parameter batch is number: write :batch"),
        ('SELECT :"token"', "claim.sql:1: :\"token\": the parameter token is text: write :'token'"),
        (
            "SELECT :'wroker_id'",
            "claim.sql:1: unknown parameter :'wroker_id': .* did you mean 'worker_id'[?] Known: attempt, batch",
        ),
        ("SELECT 1;\nSELECT :foo", "claim.sql:2: unknown parameter :foo: .*put a space behind the colon"),
        ("SELECT :retry_delay_ms", "claim.sql:1: :retry_delay_ms: claim.sql takes no parameter of that name; Known: attempt"),
        ("SELECT ':batch' :'a b'", "claim.sql:1: unknown parameter :'a b'"),
        ("BEGIN; SELECT 1", "claim.sql:1: BEGIN: .* no transaction control"),
        ("SELECT 1;\nCommit;", "claim.sql:2: COMMIT"),
        ("rollback", "claim.sql:1: ROLLBACK"),
        ("START TRANSACTION", "claim.sql:1: START"),
        ("end", "claim.sql:1: END"),
        ("abort", "claim.sql:1: ABORT"),
        ("SELECT 1;\n\n-- note\n 'abc", "claim.sql:4: .* not closed"),
        ("SELECT $$abc", "claim.sql:1: .* not closed"),
        ('SELECT\n"abc', "claim.sql:2: .* not closed"),
        ("SELECT 1 /* abc", "claim.sql:1: .* not closed"),
        ("", "claim.sql: holds no SQL statement"),
        ("-- only this\n;", "claim.sql: holds no SQL statement"),
        ("\\set batch 1\nSELECT 1", "claim.sql:1: a psql command"),
        ("SELECT\n$1", "claim.sql:2: \\$1: write parameters by name"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_its_remedy(text: str, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        read(text)


def test_an_operation_without_parameters_says_so() -> None:
    with pytest.raises(DesignError, match=r"schema.sql:1: :'token': schema.sql takes no parameter of that name; it takes none"):
        read("SELECT :'token'", "schema")


@pytest.mark.parametrize("text", ["SAVEPOINT a", "ROLLBACK TO SAVEPOINT a", "DO $$ BEGIN COMMIT; END $$", "SELECT 1 AS commit"])
def test_what_only_resembles_transaction_control_is_let_through(text: str) -> None:
    assert [statement.sent for statement in read(text)] == [text]
