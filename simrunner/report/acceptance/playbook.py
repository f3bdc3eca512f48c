"""The experiments of the acceptance, in their order. Each is a workload of the same name. No pyarrow: runs fork actors."""

from __future__ import annotations

from dataclasses import dataclass

STEPPED, ROUNDS = "stepped", "rounds"


@dataclass(frozen=True, slots=True)
class Experiment:
    """One question of the acceptance."""

    workload: str
    file: str
    """Its file in the evidence; a table (.csv) may be shared by experiments of one kind."""
    modes: tuple[str, ...] = (STEPPED,)
    also: tuple[str, ...] = ()
    """Further workloads that belong to it."""

    @property
    def workloads(self) -> tuple[str, ...]:
        """All its workloads, the one that it is named after first."""
        return (self.workload, *self.also)


PLAYBOOK = (
    Experiment("claim-boundary", "experiment-claim-boundary.txt"),
    Experiment("blocking-vs-skip", "experiment-blocking.txt"),
    Experiment("ordering-single", "experiment-ordering.csv"),
    Experiment("ordering-rounds", "experiment-ordering.csv", (STEPPED, ROUNDS)),
    Experiment("ordering-ties", "experiment-ordering.csv"),
    Experiment("ordering-mutable", "experiment-ordering-mutable.txt"),
    Experiment("starvation-probe", "experiment-starvation.csv"),
    Experiment("high-depth", "experiment-high-depth.txt"),
    Experiment("priority-inflow", "experiment-priority-inflow.txt"),
    Experiment("recovery-rank", "experiment-recovery-rank.txt"),
    Experiment("batch-final-pass", "experiment-batch-final-pass.txt"),
    Experiment("slow-work", "experiment-slow-work.txt"),
    Experiment("crash-before-commit", "experiment-crash-before-commit.txt"),
    Experiment("crash-after-commit", "experiment-crash-after-commit.txt"),
    Experiment("abandoned-claim", "experiment-abandoned-claim.csv", also=("late-rescue",)),
    Experiment("duplicate-effect", "experiment-duplicate-effect.csv"),
    Experiment("retries", "experiment-retries.txt"),
    Experiment("report-skip-locked", "experiment-report-skip-locked.txt"),
    Experiment("isolation-levels", "experiment-isolation-levels.txt"),
    Experiment("query-plans", "query-plans.txt", also=("query-plans-deep",)),
)
"""The whole acceptance."""
