"""Places the faults of a workload by the seed, and says at each decision whether one strikes."""

from __future__ import annotations

from collections.abc import Sequence

from simrunner.faults.registry import FAULTS
from simrunner.model.draws import Draws
from simrunner.model.operations import WORKER_CRASH_POINTS
from simrunner.model.tape import Decision
from simrunner.model.view import ArmedFault, View
from simrunner.model.workload import FaultSpec, Workload


def arm(workload: Workload, workers: Sequence[str], draws: Draws) -> list[ArmedFault]:
    """Draw round and actor of every fault, as far as the workload does not name them.

    Rounds lie in the first half of the safety phase, so that recovery and a late write happen in it too.
    """
    return [_place(spec, workload, workers, draws) for spec in workload.faults for _ in range(spec.times)]


def due(armed: list[ArmedFault], view: View) -> Decision | None:
    """Return the command of the first armed fault that strikes now, and disarm it; None if none does."""
    for fault in armed:
        if view.round < fault.round:
            continue
        kind = FAULTS[fault.spec.kind]
        for lane in view.lanes:
            if fault.actor in (None, lane.actor) and kind.strikes(lane, fault.spec):
                armed.remove(fault)
                return kind.command(lane, fault.spec)
    return None


def _place(spec: FaultSpec, workload: Workload, workers: Sequence[str], draws: Draws) -> ArmedFault:
    stream = f"fault/{spec.kind}/{spec.crash_point or spec.at}"
    round_ = spec.round
    if round_ is None:
        first_half = max(1, workload.safety.rounds // 2)
        round_ = 1 + draws.below(f"{stream}/round", first_half)
    actor = spec.actor
    if actor is None and _is_of_a_worker(spec):
        actor = workers[draws.below(f"{stream}/actor", len(workers))]
    return ArmedFault(spec, round_, actor)


def _is_of_a_worker(spec: FaultSpec) -> bool:
    """Whether it strikes a worker where the workload names nobody: at a worker's crash point, or wherever one stands."""
    anywhere = spec.crash_point is None and spec.at is None and FAULTS[spec.kind].of_actor
    return anywhere or spec.crash_point in WORKER_CRASH_POINTS
