"""What a rehearsal finds in its context: the facts it was given, and what the user says about themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from runtime.messages import Message
from runtime.models.extract import COMMON

LONGEST_VALUE = 200
FENCE = re.compile(r"<memory\b[^>]*>\n(.*?)</memory>", re.DOTALL)
ABOUT = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
"""What a line of facts ends with: who said it, when, how sure."""


PAST = "- Past exchange"
"""How something that was said in another session begins: it is no fact."""


class Known(NamedTuple):
    """A fact by its key; the value is as text."""

    key: str
    value: str


_END = r"(?=\s*(?:[.!?;,\n]|$| and (?:my|I)\b| but\b))"
_ALWAYS: tuple[tuple[str, str], ...] = (
    (r"\bmy name is (?P<value>[^.!?;,\n]+?)", "name"),
    (r"\b(?:call me|i am called|i'm called) (?P<value>[^.!?;,\n]+?)", "name"),
    (r"\bi (?:now )?live in (?P<value>[^.!?;\n]+?)", "city"),
    (r"\bi (?:have )?moved to (?P<value>[^.!?;\n]+?)", "city"),
    (r"\bi work as (?P<value>[^.!?;,\n]+?)", "job"),
    (r"\bi work (?:at|for) (?P<value>[^.!?;,\n]+?)", "employer"),
    (r"\bi(?: am|'m) allergic to (?P<value>[^.!?;\n]+?)", "allergy"),
    (r"\bi (?:would )?prefer (?P<value>[^.!?;\n]+?)", "preference"),
    (r"\bmy (?P<key>favou?rite [a-z ]{1,40}?) is (?P<value>[^.!?;\n]+?)", ""),
)
"""What is worth remembering whenever it is said: pattern and key."""
_TOLD: tuple[tuple[str, str], ...] = (
    (r"\bi (?:really )?(?:like|love) (?P<value>[^.!?;\n]+?)", "likes"),
    (r"\b(?:my|the) (?P<key>(?!name\b)[a-z][a-z ]{0,40}?) is (?P<value>[^.!?;\n]+?)", ""),
)
"""What is remembered only when that is asked for: in passing it is mostly about today."""


PERSONAL = re.compile(r"\b(?:my|i|me)\b", re.IGNORECASE)
"""Without any of these words nobody says anything of themselves, and the patterns need not be compiled."""


@cache
def _compiled(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern + _END, re.IGNORECASE), key) for pattern, key in patterns)


REMEMBER = re.compile(
    r"\b(?:please )?(?:remember|note|keep in mind)(?: that|:|,)? (?P<rest>.+)", re.IGNORECASE | re.DOTALL
)
ASKS_ALL = re.compile(
    r"\b(?:what|which|anything)\b.*\byou\b.*\b(?:know|remember|facts|stored)|\bwho am i\b|\bwhat facts\b",
    re.IGNORECASE | re.DOTALL,
)
ASKS_ONE = re.compile(
    r"\b(?:what(?:'s| is| are| was)|who(?:'s| is)|where(?:'s| is)|do you (?:know|remember)|tell me) my"
    r" (?P<about>[\w '-]+)"
    r"|\bwhere do i (?P<where>live|work)|\bwhat do i (?P<what>prefer|like|love|do)"
    r"|\bwhat am i (?P<am>allergic to|called)",
    re.IGNORECASE,
)
_SAME = {
    "live": "city",
    "work": "employer",
    "prefer": "preference",
    "like": "likes",
    "love": "likes",
    "do": "job",
    "allergic to": "allergy",
    "called": "name",
    "home": "city",
    "preferences": "preference",
}
"""What a question is about, as the key it was remembered under."""


def facts_in(messages: Sequence[Message]) -> list[Known]:
    """The facts that stand fenced in a context, in their order; the latest of a key counts."""
    found: dict[str, Known] = {}
    for message in messages:
        if message.role in ("system", "user"):
            for body in FENCE.findall(message.content or ""):
                for line in body.split("\n"):
                    if line.startswith("- ") and line != PAST:
                        from html import unescape  # its table is large; few rehearsals have a fence

                        fact = _fact_of(unescape(line[2:]))
                        found[fact.key] = fact
    return list(found.values())


def _fact_of(line: str) -> Known:
    line = ABOUT.sub("", line)
    key, colon, value = line.partition(": ")
    if not colon:
        return Known("", line[:LONGEST_VALUE])
    try:
        parsed: Any = json.loads(value)
    except ValueError:
        parsed = value
    return Known(key.strip(), value_text(parsed))


def value_text(value: Any) -> str:
    """A fact's value for a sentence."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:LONGEST_VALUE]


def stated_in(text: str) -> list[Known]:
    """What the user says about themselves or tells to remember; questions say nothing."""
    found: dict[str, Known] = {}
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        if sentence.rstrip().endswith("?"):
            continue
        told = REMEMBER.search(sentence)
        if not told and not PERSONAL.search(sentence):
            continue
        said = _patterns_in(sentence, _compiled(_ALWAYS + _TOLD if told else _ALWAYS))
        if told and not said:
            said = [_note(told["rest"].strip(" .!"))]
        found.update((fact.key, fact) for fact in said)
    return list(found.values())


def _patterns_in(sentence: str, patterns: Sequence[tuple[re.Pattern[str], str]]) -> list[Known]:
    found: list[Known] = []
    taken: list[tuple[int, int]] = []
    for pattern, key in patterns:
        for match in pattern.finditer(sentence):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            name = key or slug(match["key"])
            found.append(Known(name, match["value"].strip()[:LONGEST_VALUE]))
    return found


def _note(text: str) -> Known:
    return Known(slug(" ".join(_meaning(text)[:4])) or "note", text[:LONGEST_VALUE])


def _meaning(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w-]+", text.lower()) if word not in COMMON and len(word) > 2]


def slug(text: str) -> str:
    """A key from words."""
    return re.sub(r"\W+", "_", text.lower()).strip("_")[:60]


def asked_about(text: str) -> str | None:
    """The key that a question of the user is about, null where it asks for none in particular."""
    match = ASKS_ONE.search(text)
    if match is None:
        return None
    about = next(group for group in match.groups() if group is not None).strip().lower()
    return _SAME.get(about, slug(about))


def asks_for_all(text: str) -> bool:
    """The user asks what is known about them."""
    return ASKS_ALL.search(text) is not None


def fitting(facts: Sequence[Known], about: str) -> Known | None:
    """The fact that answers a question about a key: the key itself, else one that shares its words."""
    words = set(about.split("_"))
    exact = [fact for fact in facts if fact.key == about]
    near = [fact for fact in facts if words & set(re.split(r"[\W_]+", fact.key.lower()))]
    both = exact or near
    return both[-1] if both else None
