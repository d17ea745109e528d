"""Does a text hold a credential? Known shapes first, then what is called a password, then chance-like runs.

The forms of keys are those that their issuers document; the words and bounds are chosen so that ordinary
prose, identifiers, hashes and pictures pass.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

ENTROPY_BITS = 3.5
"""Shannon bits a character from which a run counts as random; English words have about 3."""
SHORTEST_RUN = 24
"""Characters from which a random run beside a word like `token` counts."""
SHORTEST_PASSWORD = 6
SHORTEST_TOKEN = 16
CONTEXT_CHARS = 40
"""How far before a random run the word may stand."""


class Found(NamedTuple):
    """A credential: what kind, and where in the text. It never carries the value."""

    kind: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.kind} at characters {self.start} to {self.end}"


class _Shape(NamedTuple):
    """A known form of key. `markers`: texts one of which every such key has, quick to look for."""

    kind: str
    markers: tuple[str, ...]
    pattern: re.Pattern[str]


_FORMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("private key", ("PRIVATE KEY",), r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    ("Anthropic key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("OpenRouter key", ("sk-or-",), r"sk-or-[A-Za-z0-9-]{20,}"),
    ("OpenAI key", ("sk-",), r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,}"),
    ("Google key", ("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    ("Google token", ("ya29.", "GOCSPX-"), r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"),
    ("Groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("xAI key", ("xai-",), r"xai-[A-Za-z0-9]{40,}"),
    ("Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{30,}"),
    ("Replicate token", ("r8_",), r"r8_[A-Za-z0-9]{30,}"),
    ("Perplexity key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,}"),
    ("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    (
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,}",
    ),
    (
        "GitLab token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glsoat-"),
        r"gl(?:pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{20,}",
    ),
    ("Slack token", ("xox", "xapp-"), r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    (
        "Slack webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
    ),
    (
        "Stripe key",
        ("sk_", "rk_", "whsec_"),
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{24,}",
    ),
    ("SendGrid key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,}"),
    ("DigitalOcean token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{64}"),
    ("Shopify token", ("shp",), r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("Telegram token", (":AA",), r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("JSON web token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("Azure key", ("Key=",), r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}={0,2}"),
    (
        "password in an address",
        ("://",),
        r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,80}:[^\s/@{<$*]{3,200}@[^\s@]",
    ),
)
_SHAPES = tuple(
    _Shape(kind, markers, re.compile(f"(?<![A-Za-z0-9_])(?:{form})")) for kind, markers, form in _FORMS
)
_PASSWORD = re.compile(
    r"(?i)(?<![A-Za-z])(?:password|passwort|passwd|passphrase|pwd|passcode)"
    r"(?P<by>[\"'`]?\s{0,3}(?:=>|[:=])\s{0,3}|\s+(?:is|was|ist)\s+)(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;]{4,200})"
)
_TOKEN = re.compile(
    r"(?i)(?<![A-Za-z])(?:(?:api|access|secret|private|auth|client|account|signing|encryption|bearer|session|refresh)"
    r"[ _-]?(?:access[ _-]?)?(?:key|token|secret)|secret|token|credentials?|apikey|authorization)"
    r"[\"'`]?(?:\s{0,3}(?:=>|[:=])\s{0,3}|\s+(?:is|was|ist)\s+)[\"'`]?(?:(?:bearer|basic|token)\s+)?"
    r"(?P<value>[A-Za-z0-9+/_.~=-]{16,500})"
)
_BEARER = re.compile(r"(?<![A-Za-z])(?:[Bb]earer|BEARER|Basic)\s+(?P<value>[A-Za-z0-9+/_.~=-]{16,500})")
_CONTEXT = re.compile(r"(?i)(?:key|token|secret|credential|passw|auth)")
_WORDS = ("key", "token", "secret", "credential", "pass", "auth", "pwd", "bearer", "basic")
"""Without one of these, nothing below the known shapes can be found."""
_RUN = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,200}={0,2}(?![A-Za-z0-9+/_=-])")
_PICTURE = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w.=+-]+)*;base64,[A-Za-z0-9+/=\s]+")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACEHOLDER = re.compile(
    r"(?i)^[<{$\[(%*#]|\*\*\*|xxx|\.\.\.|…|(?:your|my|the|example|sample|dummy|test|fake|placeholder|redacted)"
    r"[-_ ]?(?:api|key|token|secret|password|pass)|^(?:required|optional|none|null|true|false|string|hidden"
    r"|redacted|missing|invalid|incorrect|wrong|changed|expired|example|unknown|undefined|default|protected)\.?$"
)


def find_credential(text: str) -> Found | None:
    """The first credential in a text, or None. Looks for shapes before it looks for words."""
    for shape in _SHAPES:
        if any(marker in text for marker in shape.markers):
            known = shape.pattern.search(text)
            if known is not None:
                return Found(shape.kind, known.start(), known.end())
    small = text.lower()
    if not any(word in small for word in _WORDS):
        return None
    return _named_password(text) or _named_token(text) or _random_run(text)


def _named_password(text: str) -> Found | None:
    """`password=…`, `"password": "…"`, `my password is …`."""
    for match in _PASSWORD.finditer(text):
        value, by = match["value"].rstrip(".!?)]}"), match["by"].strip()
        if len(value) < SHORTEST_PASSWORD or _PLACEHOLDER.search(value):
            continue
        assigned = by.endswith("=") or bool(match["quote"])
        mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        odd = mixed or any(not c.isalnum() and c not in "._-/" for c in value)
        if assigned or odd:
            return Found("password", match.start("value"), match.start("value") + len(value))
    return None


def _named_token(text: str) -> Found | None:
    """`api_key: …`, `Authorization: Bearer …`, with a value that no sentence has."""
    for pattern in (_TOKEN, _BEARER):
        for match in pattern.finditer(text):
            value = match["value"].rstrip(".")
            if len(value) >= SHORTEST_TOKEN and not _PLACEHOLDER.search(value) and _token_like(value):
                return Found("token", match.start("value"), match.start("value") + len(value))
    return None


def _token_like(value: str) -> bool:
    """Letters and digits mixed, no UUID, no path or dotted name with a digit or two in it."""
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if not digits or not letters or _UUID.fullmatch(value):
        return False
    return entropy(value) >= 3 and (digits >= 3 or _shuffled(value))


def _random_run(text: str) -> Found | None:
    """A long random run with a word such as `token` shortly before it."""
    pictures = [match.span() for match in _PICTURE.finditer(text)]
    for match in _RUN.finditer(text):
        value = match[0]
        if any(start <= match.start() < end for start, end in pictures) or _UUID.search(value):
            continue
        before = text[max(0, match.start() - CONTEXT_CHARS) : match.start()]
        if _CONTEXT.search(before) and _shuffled(value) and entropy(value) >= ENTROPY_BITS:
            return Found("random token", match.start(), match.end())
    return None


def _shuffled(value: str) -> bool:
    """Capitals, small letters and digits that change places often, as in no word or file name."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "" for c in value]
    if {"d", "u", "l"} - set(kinds):
        return False
    turns = sum(a != b for a, b in pairwise(kinds) if a and b)
    return turns * 4 >= len(value)


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())
