"""A flow that was checked and compiled: the only thing that is run."""

from runtime.plan.compile import compile_flow, read_plan
from runtime.plan.model import MemoryBinding, Plan, PlanNode, Source, Target

__all__ = ["MemoryBinding", "Plan", "PlanNode", "Source", "Target", "compile_flow", "read_plan"]
