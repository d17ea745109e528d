"""From what went wrong at a provider to the one ModelFailure that says so, with its remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from runtime.errors import ModelFailure
from runtime.messages import Reply
from runtime.models.said import Said, retry_after, said_by, said_in
from runtime.providers import ENV_PROVIDER, Provider

RETRYABLE = frozenset({"rate_limited", "provider_down", "unreachable"})
"""Kinds that were surely not billed and may pass."""
MAYBE_BILLED = frozenset(
    {
        "timeout",
        "connection_lost",
        "stream_broken",
        "content_filter",
        "refusal",
        "empty",
        "bad_response",
    }
)
"""Kinds after which the provider may have charged."""
QUOTED_CHARACTERS = 300
"""How much of a provider's own words an error repeats."""

# Texts, compiled at the first failure: most processes see none, and compiling them takes milliseconds.
OVERFLOW = (
    r"(?is)context[_ ]length|context[_ ]size|context[_ ]window|maximum context|context limit"
    r"|prompt is too long|prompt too long|input is too long|input length exceeds|too many (input )?tokens"
    r"|input token count .{0,40}exceeds|input tokens exceed|maximum prompt length|exceed_context"
    r"|reduce the length of the (messages|prompt|input)|longer than the maximum model length"
    r"|tokens.{0,60} too large for model|inputs. tokens \+|request_too_large"
)
"""How providers say that a request is longer than the model's window."""
QUOTA = (
    r"(?i)insufficient_quota|billing_hard_limit|credit balance is too low|requires more credits"
    r"|insufficient[_ ](balance|credits|funds)"
)
"""How they say that the account is empty."""
FILTERED = r"(?i)content_filter|content_policy|content management policy|input was flagged|ResponsibleAI"
"""How they say that a filter refused the request."""
SECRET = r"\b(?:sk|pk|rk|gsk|xai|key)[-_][-_A-Za-z0-9*.]{8,}|\bAIza[-_A-Za-z0-9]{16,}|(?<=Bearer )\S+"
"""What looks like a key."""

REMEDIES = {
    "auth": "Check {key_from}, then ask `farthing doctor`.",
    "quota": "Add credit at the provider or choose another model with --model.",
    "rate_limited": "Wait, run fewer agents at once, or give the agent fallback_models.",
    "model_not_found": "Check the model's name and {base_url}; `farthing doctor` shows both.",
    "context_overflow": "Send less history (the agent's context) or choose a model with a larger window.",
    "provider_down": "Try again later or give the agent fallback_models.",
    "timeout": "Raise timeout_s of [providers.{name}] in your settings or choose a faster model.",
    "unreachable": "Check {base_url} and the network; `farthing doctor` tries it.",
    "connection_lost": "It may have been charged. Run again; set the agent's retry_maybe_billed to have "
    "that done.",
    "stream_broken": "It may have been charged. Run again; set the agent's retry_maybe_billed to have "
    "that done.",
    "content_filter": "Rephrase what is sent; the provider's filter withheld the answer.",
    "refusal": "Rephrase what is asked, or choose another model.",
    "empty": "Run again, raise the agent's max_output_tokens, or choose another model.",
    "bad_request": "Check the agent's model, temperature, max_output_tokens and tools against what this "
    "model takes.",
    "bad_response": "Check that {base_url} is an OpenAI-compatible endpoint (most end in /v1); "
    "`farthing doctor` tries it.",
}


def failure(
    kind: str,
    provider: Provider,
    what: str,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    retryable: bool | None = None,
    maybe_billed: bool | None = None,
    partial: Reply | None = None,
    remedy: str | None = None,
) -> ModelFailure:
    """A failure of this kind with its usual verdicts and remedy. `what` is made safe to show."""
    key_from = provider.key_from or f"key of [providers.{provider.name}] in your settings"
    base_url = f"base_url of [providers.{provider.name}] in your settings"
    if provider.name == ENV_PROVIDER:
        base_url = "FARTHING_BASE_URL"
    words = (remedy or REMEDIES[kind]).format(name=provider.name, key_from=key_from, base_url=base_url)
    return ModelFailure(
        kind,
        f"{provider.name}: {shown(what, provider)}".rstrip(".") + ".",
        retryable=kind in RETRYABLE if retryable is None else retryable,
        maybe_billed=kind in MAYBE_BILLED if maybe_billed is None else maybe_billed,
        retry_after=retry_after,
        status=status,
        partial=partial,
        remedy=words,
    )


def shown(text: str, provider: Provider) -> str:
    """Foreign words in one short line without the provider's key, its headers or anything like a key."""
    for secret in (provider.key, *provider.headers.values()):
        if secret and len(secret) >= 4:
            text = text.replace(secret, "[hidden]")
    text = re.sub(SECRET, "[hidden]", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…"


def status_failure(
    provider: Provider, status: int, headers: Mapping[str, str], body: bytes, now: datetime, model: str = ""
) -> ModelFailure:
    """What an answer with an error status means. `body` may be cut; `now` is for a Retry-After date."""
    if 300 <= status < 400:
        return failure(
            "bad_response",
            provider,
            f"the server answered with a redirect (HTTP {status}), which is not followed with a key.",
            status=status,
            maybe_billed=False,
        )
    said = said_in(body)
    kind, retryable = _kind_of(status, said)
    wait = retry_after(headers, now)
    what = f"HTTP {status}: {said.message}" if said.message else f"HTTP {status} without a reason"
    if kind == "model_not_found" and model:
        what = f"the model {model!r} was not found there; {what}"
    return failure(
        kind,
        provider,
        what,
        status=status,
        retryable=retryable,
        retry_after=said.retry_after if wait is None else wait,
    )


def error_failure(
    provider: Provider, error: object, *, partial: Reply | None = None, begun: bool = False
) -> ModelFailure:
    """An `error` inside an answer that began as a success.

    `begun`: text was generated before, so that it may have been billed. Otherwise its code says what it is.
    """
    said = said_by(error)
    if begun:
        return failure(
            "stream_broken", provider, f"the stream ended in an error: {said.message}", partial=partial
        )
    number = int(said.code) if said.code.isdigit() else 0
    if 400 <= number < 600:
        kind, retryable = _kind_of(number, said)
    elif re.search(r"rate.?limit|overloaded|RESOURCE_EXHAUSTED", said.all, re.IGNORECASE):
        kind, retryable = "rate_limited", True
    else:
        kind, retryable = _kind_of(400, said)
        kind = "bad_response" if kind == "bad_request" else kind
    return failure(
        kind,
        provider,
        f"the answer is an error: {said.message}",
        status=number or None,
        retryable=retryable,
        retry_after=said.retry_after,
        partial=partial,
    )


def _kind_of(status: int, said: Said) -> tuple[str, bool]:
    """Kind and whether another try makes sense."""
    if status in (400, 413, 422, 500) and re.search(OVERFLOW, said.all):
        return "context_overflow", False
    if status == 413:
        return "context_overflow", False
    if status == 402 or (status < 500 and re.search(QUOTA, said.all)):
        return "quota", False
    if status in (400, 403) and re.search(FILTERED, said.all):
        return "content_filter", False
    if status in (401, 403) or re.search(r"api.key.not.valid|invalid.api.key", said.all, re.IGNORECASE):
        return "auth", False
    if status == 404:
        return "model_not_found", False
    if status == 408:
        return "timeout", False
    if status == 429:
        # A single request above the account's whole rate will not pass however long one waits.
        return "rate_limited", "Request too large" not in said.all
    if status >= 500:
        return "provider_down", True
    if re.search(r"model.{0,80}(not found|not exist|not supported)|model_not_found", said.all, re.IGNORECASE):
        return "model_not_found", False
    return "bad_request", False
