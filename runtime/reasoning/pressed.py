"""What a person is told where something is not sent that the answer rests on, and what they can do."""

from __future__ import annotations

from typing import NamedTuple

from runtime.reasoning.bounds import Bounded
from runtime.reasoning.context import Bill

MISSED = {
    "history": "earlier turns of this session",
    "facts": "facts",
    "entities": "facts about named subjects",
    "results": "results of tools",
    "state": "the plan",
}
"""Sections in a person's words."""
REMEDIES = {
    "answer": "Of the window {tokens} tokens are kept for the answer: lower `max_output_tokens`",
    "system": "The instructions take {tokens} tokens: shorten them",
    "tools": "The definitions of tools take {tokens} tokens: attach fewer",
    "blocks": "The pinned blocks take {tokens} tokens: shorten them",
    "results": "What is said in this turn takes {tokens} tokens: lower `max_result_tokens` of the tools",
    "turn": "What is said in this turn takes {tokens} tokens: send less",
}
"""By what takes most of the window and never gives way."""


class Told(NamedTuple):
    """A warning and its remedy."""

    text: str
    remedy: str


def told(found: Bounded, bill: Bill, limit: int, answer: int) -> Told:
    """What is missed of the tokens that there were, of which `limit` may be sent beside `answer` tokens of
    the answer; and what to change for it."""
    names = [MISSED[section] for section in found.missed]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    verb = "is" if found.missed == ("state",) else "are"
    text = f"Of {found.gave[0].before:,} tokens {limit:,} may be sent: {listed} {verb} left out or cut."
    sizes = {"answer": answer, **{section.name: section.tokens for section in bill.sections}}
    largest = max((name for name in sizes if name in REMEDIES), key=lambda name: sizes[name])
    tokens = f"{sizes[largest]:,}"
    if largest == "turn" and "results" in found.missed:
        largest = "results"
    return Told(text, f"{REMEDIES[largest].format(tokens=tokens)}, or use a model with a larger window.")
