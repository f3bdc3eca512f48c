"""Server and session settings: what makes a run reproducible, and what makes a throw-away cluster quick.

Reproducible: nothing acts on its own (autovacuum, parallel workers, timers), nothing depends on the user's environment, and
every limit of the planner is a constant. Each name is explained at
https://www.postgresql.org/docs/18/runtime-config.html
"""

from __future__ import annotations

from collections.abc import Mapping

SEARCH_PATH_CATALOG = "design, pg_catalog"
"""Where the virtual clock stands in pg_catalog itself."""
SEARCH_PATH_SCHEMA = "design, simrunner_clock, pg_catalog"

_SESSION: Mapping[str, str] = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "synchronize_seqscans": "off",
    "plan_cache_mode": "force_custom_plan",
    "work_mem": "4MB",
    "maintenance_work_mem": "64MB",
    "client_connection_check_interval": "0",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
}
"""What any role may set for its own session."""

_SESSION_SINCE: Mapping[int, Mapping[str, str]] = {17: {"transaction_timeout": "0"}}

_SUPERUSER_SESSION: Mapping[str, str] = {
    "deadlock_timeout": "100s",  # who waits is decided by simrunner; a deadlock's victim must not depend on a timer
    "log_min_messages": "panic",  # each kill would be a line in the server's log
}
"""What only a superuser may set."""

_SERVER: Mapping[str, str] = {
    # private: no network, nothing but the socket
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    # nothing acts on its own
    "autovacuum": "off",
    "max_worker_processes": "8",  # places for those of a spec that asks for parallel workers; no session of a run gets any
    "max_parallel_workers": "0",
    "max_logical_replication_workers": "0",
    "max_wal_senders": "0",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1d",
    # the cluster is thrown away: it need not survive the operating system, only a crash of its own processes
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "min_wal_size": "32MB",
    "max_wal_size": "256MB",
    # small and constant
    "max_connections": "100",
    "shared_buffers": "64MB",
    "huge_pages": "off",
    "effective_cache_size": "4GB",
    "update_process_title": "off",
    # the log: what the server did, not what a design got wrong
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    "log_timezone": "UTC",
    "lc_messages": "C",
}

_SERVER_SINCE: Mapping[int, Mapping[str, str]] = {17: {"allow_alter_system": "off"}, 18: {"io_method": "sync"}}
"""Settings that a major version brought."""


def server_settings(major: int) -> dict[str, str]:
    """Return the settings of the embedded server, which are given on its command line: nothing in its folder can change them."""
    return {**session_settings(major, superuser=True), **_SERVER, **_since(major, _SERVER_SINCE)}


def session_settings(major: int, *, superuser: bool) -> dict[str, str]:
    """Return the settings that a session of a run must have on any server of a major version."""
    return {**_SESSION, **_since(major, _SESSION_SINCE), **(_SUPERUSER_SESSION if superuser else {})}


def as_options(settings: Mapping[str, str]) -> str:
    """Write settings as libpq's `options`: a session begins with them, and RESET and DISCARD ALL return to them."""
    return " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())


def _since(major: int, added: Mapping[int, Mapping[str, str]]) -> dict[str, str]:
    return {name: value for since, settings in added.items() if major >= since for name, value in settings.items()}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
