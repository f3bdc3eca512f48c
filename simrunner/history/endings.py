"""How a job ends with success."""

from __future__ import annotations

from simrunner.model.design import Policies
from simrunner.model.event import Event


def succeeds(transition: Event, policies: Policies) -> bool:
    """Whether a transition ends its job with success: it is done or, where completions delete rows, deleted by one."""
    deleted = policies.completion_deletes and transition.to_state is None and transition.operation == "complete"
    return deleted or transition.to_state == "done"
