"""Who waits for a lock: the question that PostgreSQL has a function for, asked over the control connection."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from simrunner.errors import ServerError

_BLOCKED = b"simrunner_blocked"
_BLOCKERS = b"SELECT unnest(pg_catalog.pg_blocking_pids($1))"


class Locks:
    """Looks at the waits of a fixed set of backends."""

    def __init__(self, control: PGconn, pids: Sequence[int]) -> None:
        """Prepare the question. Raises ServerError."""
        self._control = control
        sql = (
            f"SELECT pg_catalog.pg_isolation_test_session_is_blocked(pid, '{{{','.join(map(str, pids))}}}') "
            f"FROM pg_catalog.unnest($1::pg_catalog.int4[]) AS pid"
        )
        self._checked(control.prepare(_BLOCKED, sql.encode()))

    def blocked(self, pids: Sequence[int]) -> list[bool]:
        """Return for each backend, asked in this order, whether it waits for a lock that one of the set holds or awaits."""
        array = "{" + ",".join(map(str, pids)) + "}"
        result = self._checked(self._control.exec_prepared(_BLOCKED, [array.encode()]))
        return [result.get_value(row, 0) == b"t" for row in range(result.ntuples)]

    def blockers(self, pid: int) -> list[int]:
        """Return the backends that a backend waits for."""
        result = self._checked(self._control.exec_params(_BLOCKERS, [str(pid).encode()]))
        return [int(result.get_value(row, 0) or 0) for row in range(result.ntuples)]

    def _checked(self, result: PGresult) -> PGresult:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            reason = (result.error_message or self._control.error_message).decode(errors="replace").strip()
            raise ServerError(f"while looking for blocked sessions: {reason}")
        return result
