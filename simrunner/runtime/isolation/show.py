"""What is printed of one result of a step."""

from __future__ import annotations

from psycopg import pq
from psycopg.pq.abc import PGresult

from simrunner.spec.table import table

_QUIET = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY)


def shown(result: PGresult) -> bytes:
    """Return a result's table, the severity and primary message of an error, or nothing for a command that went well.

    An error's details are left out because they may hold transaction ids, which differ from run to run.
    """
    if result.status in _QUIET:
        return b""
    if result.status == pq.ExecStatus.TUPLES_OK:
        return result_table(result)
    if result.status == pq.ExecStatus.FATAL_ERROR:
        return _error(result)
    return b"unexpected result status: PGRES_%s\n" % pq.ExecStatus(result.status).name.encode()


def result_table(result: PGresult) -> bytes:
    """Return the rows of a result as a table."""
    columns = range(result.nfields)
    names = [result.fname(column) or b"" for column in columns]
    rows = [[result.get_value(row, column) or b"" for column in columns] for row in range(result.ntuples)]
    return table(names, rows)


def _error(result: PGresult) -> bytes:
    severity = result.error_field(pq.DiagnosticField.SEVERITY)
    message = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
    if severity and message:
        return severity + b":  " + message + b"\n"
    return result.error_message + b"\n"  # libpq's own, such as a lost connection: it has no fields
