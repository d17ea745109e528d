"""A node's Memory while a run goes on: loads facts, gates what the model writes, lends the memory tools."""

from runtime.memory_service.gate import Refusal
from runtime.memory_service.internal import InternalFacts
from runtime.memory_service.service import MemoryService
from runtime.memory_service.shared import NOTHING, Beside, ForContext, Where
from runtime.memory_service.tool_specs import FORGET, READ, WRITE

__all__ = [
    "FORGET",
    "NOTHING",
    "READ",
    "WRITE",
    "Beside",
    "ForContext",
    "InternalFacts",
    "MemoryService",
    "Refusal",
    "Where",
]
