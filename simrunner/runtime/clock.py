"""The virtual clock: the SQL that puts it into a database, and the statements that set it.

`now()` and its kind read the settings `simrunner.txn_time` and `simrunner.statement_time`; see sql/clock/functions.sql. The
settings are sent as plain SET, each as a message of its own: a query would freeze the snapshot of a REPEATABLE READ
transaction. A SET inside a transaction is undone by its rollback, and an aborted transaction takes none. RESET ALL and DISCARD
ALL put the session back on the real clock until the next SET.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import simrunner

SCHEMA = "simrunner_clock"
"""Where the clock lives in a database whose pg_catalog must be left alone."""
_FOLDER = Path(simrunner.__file__).parent / "shipped-files" / "sql" / "clock"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def set_transaction_time(time_us: int) -> str:
    """Return the SET for what now() tells the transaction that begins next; microseconds since 1970-01-01 UTC."""
    return f"SET simrunner.txn_time = '{literal(time_us)}'"


def set_statement_time(time_us: int) -> str:
    """Return the SET for what statement_timestamp() and clock_timestamp() tell; microseconds since 1970-01-01 UTC."""
    return f"SET simrunner.statement_time = '{literal(time_us)}'"


def set_seed(fraction: float) -> str:
    """Return the SET that fixes the session's random(), and the identifiers made from it; -1 to 1.

    It works only as a SET, not among the settings of a connection string.
    """
    return f"SET seed = {fraction!r}"


def literal(time_us: int) -> str:
    """Write microseconds since 1970-01-01 UTC as a timestamptz that means the same under every DateStyle and TimeZone."""
    return (_EPOCH + timedelta(microseconds=time_us)).isoformat(" ", "microseconds")


def install_sql(major: int, *, in_catalog: bool) -> str:
    """Return the SQL that puts the clock into a database: into pg_catalog (superuser only) or into a schema of its own."""
    names = ["catalog" if in_catalog else "schema", "functions", "random"]
    if major >= 18:
        names = [names[0], *(["catalog18"] if in_catalog else []), *names[1:], "random18"]
    return "\n".join((_FOLDER / f"{name}.sql").read_text(encoding="utf-8") for name in names)
