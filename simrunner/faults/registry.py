"""The literal registry of faults."""

from __future__ import annotations

from simrunner.faults import kill, pause, terminate
from simrunner.faults.fault import Fault

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (kill.FAULT, pause.FAULT, terminate.FAULT)}
