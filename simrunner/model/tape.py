"""The tape: the seed, every decision in order and every random draw of one run.

A tape is kept apart from the history. Following it reproduces the run, or stops at the first step that differs.
Shuttle's Schedule (a seed and a list of steps and draws) is the model.
"""

from __future__ import annotations

from typing import NamedTuple

TAPE_SCHEMA = 1

STEP = "step"  # open the gate of `actor`; label: what it is about to do
ADVANCE = "advance"  # advance the virtual clock by `amount` milliseconds
WAKE = "wake"  # of several waiters that one step may free, `actor` goes first
ROUND = "round"  # begin round `amount`, or that step of a script
VACUUM = "vacuum"  # VACUUM the state tables
ANALYZE = "analyze"  # ANALYZE the state tables
END = "end"  # what lasted of a fault ends; label: its kind

# Faults. Each is named as the workload names it; `label` is the crash point, or else the step, at which the actor stands.
KILL = "kill"  # SIGKILL the process of `actor`
PAUSE = "pause"  # SIGSTOP the process of `actor` for `amount` rounds
TERMINATE = "terminate"  # SIGTERM the process of `actor`
KILL_IN_STATEMENT = "kill-in-statement"  # let `actor` send its statement, and SIGKILL its process while the server executes that
TERMINATE_BACKEND = "terminate-backend"  # end the session of `actor`; its process lives
LOSE_COMMIT = "lose-commit"  # the connection of `actor` ends just before its statement is sent
LOSE_ACK = "lose-ack"  # the connection of `actor` ends once its statement was answered
ERROR_AT = "error-at"  # `actor` meets an error with SQLSTATE `detail` in place of its statement
LOCK_TIMEOUT = "lock-timeout"  # the statement of `actor` gives up waiting for a lock
SERVER_CRASH = "server-crash"  # crash the server and start it again, while an actor stands at `label`
STATEMENT_TIMEOUT = "statement-timeout"  # a statement in place of that of `actor` takes too long
SKEW = "clock-skew"  # the clock of `actor` is `amount` milliseconds ahead of the database's
JUMP = "clock-jump"  # the virtual time goes `amount` milliseconds forward
REUSE = "reuse-identity"  # SIGKILL the process of `actor`; the next one has its identity
SLOW_START = "slow-start"  # SIGKILL the process of `actor`; the next one starts `amount` rounds later
ANALYZE_AT = "analyze-at"  # ANALYZE the state tables
IDLE_TIMEOUT = "idle-timeout"  # SIGSTOP the process of `actor` for `amount` rounds; the server ends its session meanwhile
HOLD_SNAPSHOT = "hold-snapshot"  # a session of somebody else keeps its snapshot for `amount` rounds

UNPLANNED = "unplanned-crash"
"""Label of a KILL that nobody decided: the actor was found dead between two decisions. Value of its fault event."""

UNPLANNED_LOSS = "unplanned-session-end"
"""Value of the fault event of a session that ended under a living actor, although nobody decided it."""

FAULTS = (
    KILL,
    PAUSE,
    TERMINATE,
    KILL_IN_STATEMENT,
    TERMINATE_BACKEND,
    LOSE_COMMIT,
    LOSE_ACK,
    ERROR_AT,
    LOCK_TIMEOUT,
    STATEMENT_TIMEOUT,
    SKEW,
    JUMP,
    SERVER_CRASH,
    REUSE,
    SLOW_START,
    ANALYZE_AT,
    IDLE_TIMEOUT,
    HOLD_SNAPSHOT,
)
"""The commands that faults return."""

DECISIONS = (STEP, ADVANCE, WAKE, ROUND, VACUUM, ANALYZE, END, *FAULTS)
"""The closed set of commands that strategies and faults return and the runtime executes."""


class Decision(NamedTuple):
    """One scheduling decision."""

    kind: str
    actor: str | None = None
    label: str | None = None
    """What the actor was about to do, e.g. `claim:COMMIT`: replay compares it, so that a change is seen at its first step."""
    amount: int | None = None
    detail: str | None = None
    """What else a fault needs to be repeated."""


class Draw(NamedTuple):
    """One random draw: the stream's name, the exclusive bound, the value in [0, bound)."""

    stream: str
    bound: int
    value: int
