"""The one token counter: a quick estimate of a whole request, corrected by what providers report.

Vocabularies differ from model to model by 20-50 %: the ratio learned for each takes that up.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from runtime.messages import Message, Request, ToolSpec
from runtime.models.characters import text_tokens

MESSAGE_TOKENS = 4
"""Tokens that the format adds to a message (role and delimiters; OpenAI's cookbook)."""
REPLY_TOKENS = 3
"""Tokens that open the reply (OpenAI's cookbook)."""
CALL_TOKENS = 8
"""Tokens around a tool call's name and arguments."""
TOOL_TOKENS = 8
"""Tokens around a tool's name, description and parameters."""
SMALLEST_RATIO, LARGEST_RATIO = 0.5, 3.0
"""Bounds of what a learned ratio may correct."""
LEARNED_CALLS = 15
"""How many of the last reports of a model its ratio is the median of."""
PRIOR_CALLS = 3
"""So many reports are needed until the ratio goes by them alone; before, 1 stands for the missing ones."""
SHORTEST_LEARNED = 50
"""Counted tokens below which a report says more about the format's overhead than about the vocabulary."""
REMEMBERED = 512
"""How many counts, tools and schemas are remembered."""


def message_tokens(message: Message) -> int:
    """Tokens of a message in its place; computed once for each message."""
    known: int | None = message.__dict__.get("counted")
    if known is not None:
        return known
    total = MESSAGE_TOKENS + text_tokens(message.content or "")
    for call in message.tool_calls:
        total += CALL_TOKENS + text_tokens(call.name) + text_tokens(call.arguments)
    # The tool calls among the extras are the same ones again, with a provider's signatures.
    extra = {field: value for field, value in message.extra.items() if field != "tool_calls"}
    if extra:
        total += text_tokens(msgspec.json.encode(extra).decode())
    message.__dict__["counted"] = total
    return total


def _median(values: list[float]) -> float:
    """As `statistics.median`, whose import takes longer than a short run has."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class _Known(NamedTuple):
    """A count and what it is of, kept so that its identity cannot pass to something else."""

    of: object
    tokens: int


class HeuristicCounter:
    """Counts requests and learns, for each `provider:model`, how far its own counts are from ours.

    The ratio is a median, so a single odd report moves little, and bounded.
    """

    def __init__(self) -> None:
        self._samples: dict[str, deque[float]] = {}
        self._ratios: dict[str, float] = {}
        self._counts: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._parts: OrderedDict[int, _Known] = OrderedDict()

    def count(self, model: str, request: Request) -> int:
        """Input tokens of the request for `provider:model`, estimated."""
        raw = REPLY_TOKENS
        for message in request.messages:
            raw += message.__dict__.get("counted") or message_tokens(message)
        for tool in request.tools:
            raw += self._part(tool)
        if request.schema is not None:
            raw += self._part(request.schema)
        counted = self._corrected(model, raw)
        self._remember(self._counts, (model, counted), raw)
        return counted

    def text(self, model: str, text: str) -> int:
        """Tokens of a text for `provider:model`, estimated."""
        return self._corrected(model, text_tokens(text))

    def message(self, model: str, message: Message) -> int:
        """Tokens of one message for `provider:model`, estimated; counted once for each message."""
        return self._corrected(model, message.__dict__.get("counted") or message_tokens(message))

    def messages(self, model: str, messages: Iterable[Message]) -> int:
        """Tokens of several messages for `provider:model`, estimated; each is counted once for ever."""
        raw = 0
        for message in messages:
            raw += message.__dict__.get("counted") or message_tokens(message)
        return self._corrected(model, raw)

    def ratio(self, model: str) -> float:
        """What counts for this model are multiplied by."""
        return self._ratios.get(model, 1.0)

    def learn(self, model: str, counted: int, reported: int) -> None:
        """Take note that a request counted as `counted` was reported as `reported` input tokens."""
        # Calls run side by side: the ratio may have moved since this one was counted.
        raw = self._counts.get((model, counted)) or counted / self.ratio(model)
        if raw < SHORTEST_LEARNED or reported <= 0:
            return
        sample = min(max(reported / raw, SMALLEST_RATIO), LARGEST_RATIO)
        samples = self._samples.setdefault(model, deque(maxlen=LEARNED_CALLS))
        samples.append(sample)
        self._ratios[model] = _median([*samples, *[1.0] * (PRIOR_CALLS - len(samples))])

    def _corrected(self, model: str, raw: int) -> int:
        ratio = self._ratios.get(model)
        return raw if ratio is None else round(raw * ratio)

    def _part(self, part: ToolSpec | dict[str, Any]) -> int:
        """Tokens of a tool or a schema, counted once for each object."""
        known = self._parts.get(id(part))
        if known is not None:
            return known.tokens
        if isinstance(part, ToolSpec):
            text = f"{part.name} {part.description} {msgspec.json.encode(part.parameters).decode()}"
        else:
            text = msgspec.json.encode(part).decode()
        tokens = TOOL_TOKENS + text_tokens(text)
        self._remember(self._parts, id(part), _Known(part, tokens))
        return tokens

    @staticmethod
    def _remember(store: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        store[key] = value
        if len(store) > REMEMBERED:
            store.popitem(last=False)
