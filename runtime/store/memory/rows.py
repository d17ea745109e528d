"""All rows in memory: what the verbs work with."""

from __future__ import annotations

from runtime.store.memory.rows_calls import CallRows
from runtime.store.memory.rows_counters import CounterRows
from runtime.store.memory.rows_documents import DocumentRows
from runtime.store.memory.rows_runs import FactRows, RunRows


class MemoryRows(RunRows, CallRows, CounterRows, FactRows, DocumentRows):
    """`runtime.store.rows.Rows` in plain Python."""
