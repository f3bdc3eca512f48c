"""The fixed words of an acceptance: its boundary, its labels, what SKIP LOCKED does not establish, what is not proven."""

from __future__ import annotations

from simrunner.report.acceptance.plan import CONTROL, MAIN, Part

OBSERVATIONAL = " (observational)"
"""Ends a line that may differ between two acceptances of the same design and seed."""

MANUAL = "https://www.postgresql.org/docs/18/"
MANUAL_READ = "2026-11-30"
"""When the pages of the manual that the experiments rest on were last compared with what is said of them."""

BOUNDARY = (
    "One disposable PostgreSQL instance; every run has a database of its own.",
    "Synthetic rows with explicit ids and deterministic ordering fields; fixed worker identities.",
    "Real worker processes; delays are local and virtual. A coordinator decides every step, except in rounds mode.",
    "No customer data, no external side effect.",
)

LABELS = (
    ("Documented behaviour", "what the PostgreSQL 18 manual says, in our words, with its page"),
    ("Engineering inference", "what we conclude from it; it may be wrong, and the experiment is there to find out"),
    ("Proposed experiment", "what is done, and what must be seen"),
    ("Actual observation", "what these runs recorded; nothing stands there that they did not record"),
)

NOT_ESTABLISHED = (
    ("FIFO service", "the lock decides who is passed over, not the age of a row", ("blocking-vs-skip", "ordering-rounds")),
    (
        "Freedom from starvation",
        "a row that stays locked, or outranked, is passed each time",
        ("starvation-probe", "priority-inflow"),
    ),
    ("Eventual completion", "a claimed row comes back only if something recovers it", ("crash-after-commit", "batch-final-pass")),
    ("Balance between workers", "who asks more often gets more", ("ordering-rounds",)),
    ("Exactly-once execution", "a worker can die between its effect and its completion", ("duplicate-effect",)),
    ("Recovery after a committed claim", "the lock ended with the commit", ("crash-after-commit", "abandoned-claim")),
    ("Not waiting for a table lock", "it applies to row locks only", ("blocking-vs-skip",)),
    ("An empty queue", "an empty claim means nothing claimable now", ("report-skip-locked",)),
)
"""What SKIP LOCKED does not establish, why, and the experiments that look at it."""

NOT_PROVEN = (
    "A pass shows consistency with these definitions under these synthetic conditions; it proves nothing about production.",
    "It says nothing about throughput, latency, capacity or the number of workers, and nothing about rows, payloads or failures"
    " that were not tried.",
    "A plan's cost is an estimate; plans are recorded, not asserted.",
    "Two histories can end in the same final row: the final dump is necessary evidence, never sufficient. The events decide.",
    "Documented behaviour is cited, not tested again, where no observation stands beside it.",
)


def role_in_words(part: Part) -> str:
    """Return what a run is there for."""
    if part.role == MAIN:
        return "the design under test"
    return f"control, which must violate {part.violates}" if part.role == CONTROL else "another design, to compare"


def prose(text: str) -> str:
    """Return a text of a workload on one line, ended by a full stop."""
    line = " ".join(text.split())
    return line if not line or line.endswith((".", "?", "!")) else f"{line}."
