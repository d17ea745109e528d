"""All rows of SQLite on one connection: what the verbs work with."""

from __future__ import annotations

from runtime.store.sqlite.rows_accesses import AccessRows
from runtime.store.sqlite.rows_calls import CallRows
from runtime.store.sqlite.rows_counters import CounterRows
from runtime.store.sqlite.rows_documents import DocumentRows
from runtime.store.sqlite.rows_facts import FactRows
from runtime.store.sqlite.rows_runs import RunRows


class SqliteRows(AccessRows, RunRows, CallRows, CounterRows, FactRows, DocumentRows):
    """`runtime.store.rows.Rows` on SQLite."""
