"""In which ways a provider misbehaves, and what must come of a run that meets each of them.

Each line is one answer, given to every call of the run. `Charge` says what the ledger must show for it:
`nothing` where the provider surely did not bill, `reported` where it told its usage although it failed,
`estimate` where it may have billed and told nothing.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal, NamedTuple

from tests.fake_model.plays import PLAYS, Play, answer, failure, frame, raw, stream
from tests.fake_model.server import NOTHING

Charge = Literal["nothing", "reported", "estimate"]
TRIES = 4
"""How often a call is sent at most, the first time included."""
TIMEOUT_S = 0.4
"""The time-out of the provider in this suite."""


class Case(NamedTuple):
    """A misbehaviour and what must come of it. `least_pause` is the shortest pause before each repeat.

    `modes`: met by a caller that reads the answer whole, by one that reads it as it comes, or by either;
    null: either, unless the answer is the same bytes for both.
    """

    name: str
    play: Play
    code: str
    charge: Charge
    calls: int = 1
    least_pause: float = 0.0
    status: int | None = None
    modes: tuple[str, ...] | None = None

    def met(self) -> tuple[str, ...]:
        """The modes to try it in."""
        return self.modes or (BOTH if self.play.frames is not None else STREAMED)


STREAMED, BOTH = ("streamed",), ("plain", "streamed")


def choices(*found: Any, **more: Any) -> Play:
    """A body with these choices and a usage of 9 tokens."""
    usage = {"prompt_tokens": 9, "completion_tokens": 0}
    return raw(json.dumps({"id": "x", "choices": list(found), "usage": usage, **more}))


def words(*pieces: str) -> list[bytes]:
    """Frames of a stream that says this and does not end."""
    return [frame({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces]


def in_half_a_minute() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)


LONG = b'{"choices": [{"message": {"content": "' + b"x" * (17 * 1024**2) + b'"}}]}'
PAGE = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>"
FILTER = {"message": "The response was filtered.", "code": "content_filter"}

NOT_AN_ANSWER = (
    Case("html", PLAYS["html"], "bad_response", "estimate", modes=BOTH),
    Case("nothing_at_all", raw(b""), "bad_response", "estimate"),
    Case("half_a_json", raw(b'{"choices": [{"mess'), "bad_response", "estimate"),
    Case("a_list", raw(b"[1, 2]"), "bad_response", "estimate"),
    Case("not_utf8", raw(b'{"choices": "\xff\xfe'), "bad_response", "estimate"),
    Case("other_json", raw(b'{"hello": "world"}'), "bad_response", "estimate"),
    Case("huge", raw(LONG), "bad_response", "estimate"),
    Case(
        "redirect",
        Play(status=307, headers={"Location": "http://127.0.0.1:9/v1"}),
        "bad_response", "nothing", status=307,
    ),
)  # fmt: skip

EMPTY = (
    Case("no_choices", choices(), "empty", "reported"),
    Case("null_choices", raw('{"choices": null, "usage": {"prompt_tokens": 9, "completion_tokens": 0}}'),
         "empty", "reported"),
    Case("null_choices_and_no_usage", raw('{"id": "x", "choices": null}'), "empty", "estimate"),
    Case("no_text", answer(None), "empty", "reported"),
    Case("white_space", answer(" \n"), "empty", "reported"),
    Case("limit_reached_before_any_text", answer("", finish="length"), "empty", "reported"),
    Case("content_filter", answer("", finish="content_filter"), "content_filter", "reported"),
    Case("content_filter_400", failure(400, FILTER), "content_filter", "estimate", status=400),
    Case("refusal", answer(None, extra={"refusal": "I can't help with that."}), "refusal", "reported"),
    Case("refusal_as_finish", answer("No.", finish="refusal"), "refusal", "reported"),
)  # fmt: skip

BROKEN = (
    Case("stream_cut", stream(*words("Hel", "lo"), ending="cut"), "stream_broken", "estimate",
         modes=STREAMED),
    Case("stream_reset", stream(*words("Hel", "lo"), ending="reset"), "stream_broken", "estimate",
         modes=STREAMED),
    Case("stream_ends_without_a_reason", stream(*words("Hel"), ending="no_done"), "stream_broken",
         "estimate", modes=STREAMED),
    Case("stream_bad_line", stream(*words("Hel"), b"data: {oops\n\n"), "stream_broken", "estimate",
         modes=STREAMED),
    Case("stream_error_inside", stream(*words("Hel"), frame({"error": {"message": "overloaded"}})),
         "stream_broken", "estimate", modes=STREAMED),
    Case("stream_that_says_nothing", stream(ending="no_done"), "stream_broken", "estimate", modes=STREAMED),
    Case("stream_hangs", stream(*words("Hel"), ending="hang"), "timeout", "estimate", modes=STREAMED),
    Case("hang", PLAYS["hang"], "timeout", "estimate"),
    Case("slow_drip", answer(drip=True, gap_s=0.05), "timeout", "estimate"),
    Case("closed_without_a_word", raw(b"", promise=NOTHING), "connection_lost", "estimate"),
    Case("reset_in_the_body", raw(b'{"cho', promise=500, ending="reset"), "connection_lost", "estimate"),
    Case("half_of_the_body", raw(b'{"cho', promise=500), "connection_lost", "estimate"),
)  # fmt: skip

DECLINED = (
    Case("unauthorized", PLAYS["unauthorized"], "auth", "nothing", status=401),
    Case("forbidden", failure(403, {"message": "Not for you."}), "auth", "nothing", status=403),
    Case("payment", failure(402, {"message": "Pay first."}), "quota", "nothing", status=402),
    Case("no_credit", PLAYS["quota"], "quota", "nothing", status=429),
    Case("not_found", failure(404, {"message": "No such model."}), "model_not_found", "nothing", status=404),
    Case("not_found_page", raw(PAGE, content_type="text/html", status=404), "model_not_found", "nothing",
         status=404),
    Case("bad_request", failure(400, {"message": "temperature is odd"}), "bad_request", "nothing",
         status=400),
    Case("rate", failure(429, {"message": "Slow down."}), "rate_limited", "nothing", TRIES, 0.25, 429),
    Case("rate_in_seconds", failure(429, {"message": "Slow down."}, headers={"Retry-After": "7"}),
         "rate_limited", "nothing", TRIES, 7.0, 429),
    Case("rate_too_long", failure(429, {"message": "Slow down."}, headers={"Retry-After": "3600"}),
         "rate_limited", "nothing", status=429),
    Case("rate_of_one_request", failure(429, {"message": "Request too large for gpt on tokens per min"}),
         "rate_limited", "nothing", status=429),
    Case("error_500", PLAYS["down"], "provider_down", "nothing", TRIES, 0.25, 500),
    Case("page_502", raw(PAGE, content_type="text/html", status=502), "provider_down", "nothing", TRIES,
         0.25, 502),
    Case("busy_503", failure(503, "overloaded", headers={"Retry-After": "3"}), "provider_down", "nothing",
         TRIES, 3.0, 503),
    Case("long_error", failure(500, {"message": "x" * 300_000}), "provider_down", "nothing", TRIES, 0.25,
         500),
    Case("error_200", PLAYS["error_200"], "provider_down", "nothing", TRIES, 0.25, 502),
    Case("error_200_without_a_code", failure(200, {"message": "Something is off."}), "bad_response",
         "estimate"),
)  # fmt: skip

OVERFLOWS: dict[str, tuple[int, Any]] = {
    "openai": (400, {"message": "Too long.", "code": "context_length_exceeded"}),
    "llama_cpp": (400, {"code": 400, "message": "request (9 tokens)", "type": "exceed_context_size_error"}),
    "anthropic": (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8"}),
    "gemini": (400, {"message": "The input token count (9) exceeds the maximum number of tokens (8)."}),
    "vllm": (400, {"message": "This model's maximum context length is 8 tokens. However, you requested 9."}),
    "tgi": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8"),
    "size_413": (413, {"message": "Request Entity Too Large"}),
}  # fmt: skip
"""How servers say that a request is longer than the model's window."""

FAILURES = (
    *NOT_AN_ANSWER,
    *EMPTY,
    *BROKEN,
    *DECLINED,
    *(
        Case(f"overflow_{name}", failure(status, error), "context_overflow", "nothing", status=status)
        for name, (status, error) in OVERFLOWS.items()
    ),
)


class Passing(NamedTuple):
    """Answers after which the run goes on, the last one sound. `least_pause` before the repeat."""

    plays: tuple[Play, ...]
    attempts: tuple[int, ...]
    least_pause: float = 0.0


def passing() -> dict[str, Passing]:
    """By name; made when asked for, since one of them holds a date."""
    date = failure(429, {"message": "Later."}, headers={"Retry-After": in_half_a_minute()})
    seconds = failure(429, {"message": "Later."}, headers={"Retry-After": "5"})
    return {
        "down_then_fine": Passing((PLAYS["down"], answer()), (1, 2), 0.25),
        "three_times_then_fine": Passing((*(PLAYS["down"],) * 3, answer()), (1, 2, 3, 4), 0.25),
        "rate_in_seconds": Passing((seconds, answer()), (1, 2), 5.0),
        "rate_until_a_date": Passing((date, answer()), (1, 2), 25.0),
        "drip_within_the_time": Passing((answer("Hi.", drip=True, gap_s=0.0),), (1,)),
        "stream_without_its_mark": Passing((answer("Hi.", ending="no_done"),), (1,)),
    }
