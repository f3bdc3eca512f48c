"""What each action of a script takes: a key that an action does not know is a mistake, not a wish to be ignored."""

from __future__ import annotations

from msgspec import structs

from simrunner.config.document import Document
from simrunner.config.hints import suggestion
from simrunner.config.workload_file import ScriptEntry
from simrunner.errors import InputError
from simrunner.model.operations import CRASH_POINTS
from simrunner.model.workload import COORDINATOR_ACTIONS, SCRIPT_ACTIONS

_ALWAYS = ("do", "times", "expect", "says")
_TAKES: dict[str, tuple[str, ...]] = {
    "begin": ("isolation",),
    "claim": ("limit",),
    "candidates": ("limit", "lock", "sorted_outside"),
    "count": ("lock",),
    "explain": ("limit", "analyze"),
    "lock-table": ("mode",),
    "enqueue": ("jobs", "priority"),
    "reprioritize": ("job", "priority"),
    "amend": ("job",),
    "complete": ("claim_of",),
    "fail": ("claim_of",),
    "release": ("claim_of",),
    "heartbeat": ("claim_of",),
    "effect": ("claim_of",),
    "recover-write": ("claim_of",),
    "kill": ("crash_point",),
    "advance": ("ms", "claim_of"),
}
_NEEDS: dict[str, tuple[str, ...]] = {
    "lock-table": ("mode",),
    "reprioritize": ("job", "priority"),
    "amend": ("job",),
    "recover-write": ("claim_of",),
}
_NOBODYS = tuple(action for action in COORDINATOR_ACTIONS if action not in ("kill", "restart"))
"""Actions of the coordinator alone; a kill and a restart say to whom."""


def check_step(document: Document, place: int, entry: ScriptEntry) -> None:
    """Check one `[[script]]`. Raises WorkloadError with key and line for the first mistake."""

    def wrong(key: str, what: str) -> InputError:
        return document.error(("script", place, key), f"script[{place}].{key}: {what}")

    if entry.do not in SCRIPT_ACTIONS:
        raise wrong("do", f"no action {entry.do!r}; {suggestion(entry.do, SCRIPT_ACTIONS)}")
    given = [field.name for field in structs.fields(entry) if getattr(entry, field.name) != field.default]
    takes = (*_ALWAYS, *_TAKES.get(entry.do, ()), *(() if entry.do in _NOBODYS else ("actor",)))
    for key in given:
        if key not in takes:
            raise wrong(key, f"{entry.do} takes no {key}; it takes {', '.join(takes)}")
    for key in (*_NEEDS.get(entry.do, ()), *(() if entry.do in _NOBODYS else ("actor",))):
        if key not in given:
            raise wrong("do", f"{entry.do} needs {key}")
    if entry.do == "advance" and not {"ms", "claim_of"}.intersection(given):
        raise wrong("do", "advance needs ms, or claim_of for the lease of a claim")
    if entry.crash_point is not None and entry.crash_point not in CRASH_POINTS:
        raise wrong("crash_point", f"no crash point {entry.crash_point!r}; {suggestion(entry.crash_point, CRASH_POINTS)}")
