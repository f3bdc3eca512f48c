"""The clock of an exported case: `now()` tells the time that the run's coordinator told, from a setting of the session.

A function of the case's own schema, which stands before pg_catalog in the search_path, so that leases lapse exactly as they did
in the run, without waiting and without an UPDATE that the run did not make.
"""

from __future__ import annotations

from simrunner.runtime.clock import literal

SCHEMA = "simrunner_case"
"""The schema of everything that an exported case makes; it is dropped at the end."""
SEARCH_PATH = f"SET search_path = {SCHEMA}, public, pg_catalog;"
_TXN, _STATEMENT = "simrunner_case.now", "simrunner_case.statement"

SETUP = f"""\
CREATE SCHEMA {SCHEMA};
{SEARCH_PATH}
CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT current_setting('{_TXN}')::timestamptz $$;
CREATE FUNCTION transaction_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT current_setting('{_TXN}')::timestamptz $$;
CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT coalesce(current_setting('{_STATEMENT}', true), current_setting('{_TXN}'))::timestamptz $$;
CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT coalesce(current_setting('{_STATEMENT}', true), current_setting('{_TXN}'))::timestamptz $$;"""


def moment(time_us: int) -> str:
    """Return microseconds since 1970-01-01 UTC as the text of a timestamptz."""
    return literal(time_us)


def set_transaction_time(when: str) -> str:
    """Return the statement after which now() tells a time."""
    return f"SET {_TXN} = '{when}'"


def set_statement_time(when: str) -> str:
    """Return the statement after which clock_timestamp() tells a time."""
    return f"SET {_STATEMENT} = '{when}'"


def before(begins_at: str | None, said_at: str | None, isolation: str) -> tuple[str, ...]:
    """Return what is sent before a step's own statement: the time, and the BEGIN of its transaction."""
    sent: tuple[str, ...] = ()
    if begins_at is not None:
        level = "" if isolation == "read committed" else f" ISOLATION LEVEL {isolation.upper()}"
        sent = (set_transaction_time(begins_at), f"BEGIN{level}")
    return (*sent, set_statement_time(said_at)) if said_at is not None else sent
