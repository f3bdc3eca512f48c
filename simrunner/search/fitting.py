"""A workload as it is asked of one design."""

from __future__ import annotations

from dataclasses import replace

from simrunner.model.design import Design
from simrunner.model.workload import FaultSpec, Workload


def fitted(workload: Workload, design: Design) -> Workload:
    """Return the workload with its faults at places that the design has.

    Where the work is done in the claim's transaction there is one COMMIT: behind the completion is behind the claim's commit.
    """
    if not design.work_in_claim_transaction:
        return workload
    return replace(workload, faults=tuple(_moved(fault) for fault in workload.faults))


def _moved(fault: FaultSpec) -> FaultSpec:
    return replace(fault, crash_point="after-commit") if fault.crash_point == "after-complete" else fault
