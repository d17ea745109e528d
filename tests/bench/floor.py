"""The floor: what a careful script does for one model call, the SDK's own method and a row in SQLite."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI


class Floor:
    """`AsyncOpenAI.chat.completions.create`, then the call's usage and text in a table."""

    def __init__(self, url: str, path: Path) -> None:
        self.client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("pragma journal_mode=wal")
        self.db.execute("pragma synchronous=normal")
        self.db.execute("create table if not exists call(id integer primary key, tokens int, body text)")

    async def call(self, messages: list[dict[str, Any]]) -> None:
        reply = await self.client.chat.completions.create(model="fake", messages=messages)  # type: ignore[arg-type]
        tokens = reply.usage.total_tokens if reply.usage is not None else 0
        text = reply.choices[0].message.content
        self.db.execute("insert into call(tokens, body) values(?, ?)", (tokens, json.dumps({"text": text})))

    async def close(self) -> None:
        await self.client.close()
        self.db.close()


def conversation(turns: int) -> list[dict[str, Any]]:
    """A system message, so many turns, and a question."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help customers of a bicycle shop."}]
    for i in range(turns):
        messages.append({"role": "user", "content": f"Question {i}: {QUESTION}"})
        messages.append({"role": "assistant", "content": f"Answer {i}: {ANSWER}"})
    return [*messages, {"role": "user", "content": QUESTION}]


QUESTION = "My chain slips on the small sprockets when I ride uphill; what should I look at first, and why?"
ANSWER = (
    "Look at the wear of the chain first: a worn chain rides up on the teeth under load. If it is worn, the "
    "cassette usually has to go with it, since its teeth have taken the same shape."
)
