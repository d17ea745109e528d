"""A model's window must leave room for a prompt beside the answer: checked before a run."""

from __future__ import annotations

from runtime.errors import BadConfig
from runtime.memory.layout import check_window
from runtime.plan import Plan
from runtime.run.services import Assignments


def check_windows(plan: Plan, assignments: Assignments) -> None:
    """Raises BadConfig, naming the node, where a model's window is no larger than what is kept for the
    answer. A model whose window is not known is not checked."""
    for node in plan.reasoners:
        wanted = getattr(node.config, "max_output_tokens", None)
        for given in assignments.get(node.id, ()):
            provider = given.provider
            if provider.window is None:
                continue
            try:
                check_window(provider.window, wanted or provider.max_output or 0)
            except BadConfig as error:
                raise BadConfig(
                    f"{given.model}: {error.message}", remedy=error.remedy, node_id=node.id
                ) from None
