"""Every way in which a provider fails: its kind, whether to try again, whether it may have been billed."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest

from runtime.errors import ModelFailure
from runtime.messages import Reply
from runtime.models import failures
from runtime.models.openai_compatible import OpenAICompatible
from runtime.providers import ENV_PROVIDER, Provider
from runtime.usage import Usage
from tests.fake_model.plays import Play, answer, failure, frame, raw, stream
from tests.fake_model.server import FakeModel
from tests.runtime.models.asking import failing
from tests.runtime.models.conftest import HEADER, KEY


class Case(NamedTuple):
    """What is played and what it means. `says` must be found in the message."""

    name: str
    play: Play
    kind: str
    retryable: bool = False
    maybe_billed: bool = False
    says: str = ""
    status: int | None = None


def said(status: int, message: str, **error: Any) -> Play:
    return failure(status, {"message": message, **error})


STATUS_CASES = (
    Case("no such key", said(401, "Incorrect API key provided."), "auth", says="Incorrect", status=401),
    Case("not allowed", said(403, "Country not supported."), "auth", status=403),
    Case("google key", said(400, "API key not valid. Please pass a valid API key."), "auth", status=400),
    Case("payment", said(402, "Insufficient Balance"), "quota", status=402),
    Case("quota", said(429, "You exceeded your quota.", code="insufficient_quota"), "quota", status=429),
    Case("credit", said(400, "Your credit balance is too low to access the API."), "quota", status=400),
    Case("rate", said(429, "Slow down."), "rate_limited", retryable=True, status=429),
    Case("never fits the rate", said(429, "Request too large for gpt-x on TPM"), "rate_limited", status=429),
    Case(
        "no such model", said(404, "The model does not exist."), "model_not_found", says="'any'", status=404
    ),
    Case("no such path", raw("<html>nothing</html>", status=404), "model_not_found", says="404", status=404),
    Case("model in a 400", said(400, "x is not a valid model: model x not found"), "model_not_found"),
    Case("bad", said(400, "temperature must be 1"), "bad_request", says="temperature", status=400),
    Case(
        "too much output",
        said(400, "max_tokens is too large: 9. At most 5 completion tokens."),
        "bad_request",
    ),
    Case("unprocessable", failure(422, None, promise=None), "bad_request", status=422),
    Case("down", said(500, "The server had an error."), "provider_down", retryable=True, status=500),
    Case("gateway", raw("<html>Bad gateway</html>", status=502), "provider_down", retryable=True, status=502),
    Case("overloaded", said(529, "Overloaded", type="overloaded_error"), "provider_down", retryable=True),
    Case("plain text", raw("upstream connect error", status=503), "provider_down", True, says="upstream"),
    Case("server's time-out", said(408, "Timed out."), "timeout", maybe_billed=True, status=408),
    Case("filtered", said(400, "Filtered.", code="content_filter"), "content_filter", maybe_billed=True),
    Case(
        "redirect",
        Play(status=307, headers={"Location": "http://127.0.0.1:1/v1/chat/completions"}),
        "bad_response",
        says="redirect",
        status=307,
    ),
)

OVERFLOWS = {
    "openai": said(400, "The context is at most 128000 tokens long.", code="context_length_exceeded"),
    "openai, newer": said(400, "Input tokens exceed the configured limit of 272000 tokens."),
    "anthropic": said(400, "prompt is too long: 208310 tokens > 200000 maximum"),
    "anthropic, with output": said(400, "input length and `max_tokens` exceed context limit: 199000 + 8192"),
    "gemini": raw(
        json.dumps(
            [{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number "
                        "of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}]
        ),
        status=400,
    ),
    "llama.cpp": said(400, "the request is too large", type="exceed_context_size_error"),
    "llama.cpp, older": said(500, "the request exceeds the available context size. try increasing it"),
    "vllm": raw('{"object": "error", "message": "The decoder prompt (length 9000) is longer than the maximum '
                'model length of 4096.", "type": "BadRequestError", "code": 400}', status=400),
    "openrouter": failure(
        400,
        {"message": "Provider returned error", "code": 400,
         "metadata": {"raw": "This endpoint's maximum context length is 32768 tokens."}},
    ),
    "mistral": raw('{"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too '
                   'large for model with 32768 maximum context length", "code": 3051}', status=400),
    "groq": said(400, "Please reduce the length of the messages or completion."),
    "xai": said(400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    "too large a body": raw("", status=413),
}  # fmt: skip

USED = {"prompt_tokens": 90, "completion_tokens": 7}
HELLO = frame({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]})
USAGE = frame({"choices": [], "usage": USED})

BODY_CASES = (
    Case("web page", raw("<html><body>Welcome</body></html>", content_type="text/html"), "bad_response",
         maybe_billed=True, says="web page"),
    Case("not json", raw("hello"), "bad_response", maybe_billed=True, says="not JSON"),
    Case("nothing", raw(""), "bad_response", maybe_billed=True, says="empty"),
    Case("half", raw('{"choices": [{"mess'), "bad_response", maybe_billed=True),
    Case("not utf-8", raw(b'{"choices": "\xff"}'), "bad_response", maybe_billed=True),
    Case("list", raw("[1]"), "bad_response", maybe_billed=True, says="not an object"),
    Case("other object", raw('{"hello": 1}'), "bad_response", maybe_billed=True, says="no choices"),
    Case("error", failure(200, {"message": "Upstream failed.", "code": 502}), "provider_down", True,
         says="Upstream failed", status=502),
    Case("error of rate", failure(200, {"message": "Rate limit exceeded"}), "rate_limited", True),
    Case("error of nothing", failure(200, "strange"), "bad_response", maybe_billed=True, says="strange"),
    Case("error in null choices", raw('{"choices": null, "error": {"message": "No.", "code": 401}}'), "auth"),
    Case("empty text", answer(""), "empty", maybe_billed=True),
    Case("blank text", answer(" \n "), "empty", maybe_billed=True),
    Case("null text", answer(None), "empty", maybe_billed=True),
    Case("all reasoning", answer("", finish="length"), "empty", maybe_billed=True, says="output limit"),
    Case("filtered", answer("He", finish="content_filter"), "content_filter", maybe_billed=True),
    Case("refused", answer(None, extra={"refusal": "I will not."}), "refusal", maybe_billed=True,
         says="I will not"),
    Case("upstream broke", answer("He", finish="error"), "stream_broken", maybe_billed=True),
)  # fmt: skip

PLAIN_CASES = (
    Case("no choices", raw(json.dumps({"choices": [], "usage": USED})), "empty", maybe_billed=True),
    Case("null choices", raw(json.dumps({"choices": None, "usage": USED})), "empty", maybe_billed=True),
    Case("null message", raw('{"choices": [{"message": null, "finish_reason": "stop"}]}'), "empty",
         maybe_billed=True),
    Case("huge", raw(b'{"x": "' + b"y" * (17 * 1024 * 1024) + b'"}'), "bad_response", maybe_billed=True,
         says="16 MiB"),
    Case("short of its promise", raw('{"choices": [', promise=900), "connection_lost", maybe_billed=True),
    Case("no answer at all", Play(body=b"", promise=-1), "connection_lost", maybe_billed=True),
)  # fmt: skip

STREAM_CASES = (
    Case("cut after words", stream(HELLO, ending="no_done"), "stream_broken", maybe_billed=True, says="cut"),
    Case("marked done but cut", stream(HELLO), "stream_broken", maybe_billed=True, says="cut"),
    Case("cut at once", stream(ending="no_done"), "stream_broken", maybe_billed=True),
    Case("done at once", stream(), "empty", maybe_billed=True),
    Case("closed in the transfer", stream(HELLO, ending="cut"), "stream_broken", maybe_billed=True),
    Case("reset in the transfer", stream(HELLO, ending="reset"), "stream_broken", maybe_billed=True),
    Case("bad line", stream(HELLO, b"data: {oops\n\n"), "stream_broken", maybe_billed=True, says="{oops"),
    Case("no object", stream(HELLO, b"data: 7\n\n"), "stream_broken", maybe_billed=True),
    Case("error in the middle", stream(HELLO, frame({"error": {"message": "Overloaded"}})), "stream_broken",
         maybe_billed=True, says="Overloaded"),
    Case("error at once", stream(frame({"error": {"message": "Slow down", "code": 429}})), "rate_limited",
         retryable=True, says="Slow down"),
    Case("only usage", stream(USAGE), "empty", maybe_billed=True),
    Case("huge", stream(*[b"data: " + b" " * 65_000 + b"\n\n"] * 270, ending="done"), "stream_broken",
         maybe_billed=True),
)  # fmt: skip


def named(cases: tuple[Case, ...]) -> list[Any]:
    return [pytest.param(case, id=case.name) for case in cases]


def check(found: ModelFailure, case: Case) -> None:
    assert (found.kind, found.retryable, found.maybe_billed) == (case.kind, case.retryable, case.maybe_billed)
    assert found.code == f"model.{case.kind}"
    assert found.exit_code == 1
    assert found.message.startswith("fake: ") and case.says in found.message
    assert found.remedy and "{" not in found.remedy
    if case.status is not None:
        assert found.status == case.status


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("case", named(STATUS_CASES + BODY_CASES))
async def test_failures_have_their_kind(
    model: OpenAICompatible, fake_model: FakeModel, case: Case, streamed: bool
) -> None:
    fake_model.play(case.play)
    check(await failing(model, streamed=streamed), case)
    assert fake_model.count == 1


@pytest.mark.parametrize("case", named(PLAIN_CASES))
async def test_failures_of_plain_answers(model: OpenAICompatible, fake_model: FakeModel, case: Case) -> None:
    fake_model.play(case.play)
    check(await failing(model), case)


@pytest.mark.parametrize("case", named(STREAM_CASES))
async def test_failures_of_streams(model: OpenAICompatible, fake_model: FakeModel, case: Case) -> None:
    fake_model.play(case.play)
    check(await failing(model, streamed=True), case)


@pytest.mark.parametrize("spelling", OVERFLOWS)
async def test_failures_know_an_overflow_in_every_spelling(
    model: OpenAICompatible, fake_model: FakeModel, spelling: str
) -> None:
    fake_model.play(OVERFLOWS[spelling])
    found = await failing(model)
    assert (found.kind, found.retryable, found.maybe_billed) == ("context_overflow", False, False)


async def test_failures_are_not_decided_by_words_of_the_user(
    model: OpenAICompatible, fake_model: FakeModel
) -> None:
    echoed = [{"loc": ["body"], "msg": "field required", "input": "what is a context length?"}]
    fake_model.play(raw(json.dumps({"detail": echoed}), status=422))
    assert (await failing(model)).kind == "bad_request"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Mon, 05 Jan 2026 09:00:30 GMT"}, 30.0),
        ({"Retry-After": "Mon, 05 Jan 2026 08:00:00 GMT"}, 0.0),
        ({"Retry-After": "999999999"}, 86_400.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
async def test_failures_say_how_long_to_wait(
    model: OpenAICompatible, fake_model: FakeModel, headers: dict[str, str], seconds: float | None
) -> None:
    fake_model.play(failure(429, {"message": "Slow down."}, headers=headers))
    assert (await failing(model)).retry_after == seconds


async def test_failures_read_googles_retry_delay(model: OpenAICompatible, fake_model: FakeModel) -> None:
    error = {"code": 429, "message": "Quota exceeded for requests.", "status": "RESOURCE_EXHAUSTED",
             "details": [{"@type": "x"}, {"retryDelay": "34s"}]}  # fmt: skip
    fake_model.play(raw(json.dumps([{"error": error}]), status=429))
    found = await failing(model)
    assert (found.kind, found.retry_after) == ("rate_limited", 34.0)


SPENT = Usage(input=90, output=7)


@pytest.mark.parametrize(
    ("play", "streamed", "text"),
    [
        pytest.param(raw(json.dumps({"choices": [], "usage": USED})), False, "", id="no choices"),
        pytest.param(answer("He", finish="content_filter", usage=USED), False, "He", id="filtered"),
        pytest.param(answer(None, extra={"refusal": "No."}, usage=USED), True, "", id="refused"),
        pytest.param(stream(HELLO, USAGE, ending="cut"), True, "Hel", id="cut after its usage"),
        pytest.param(stream(HELLO, USAGE, b"data: {oops\n\n"), True, "Hel", id="bad line after its usage"),
        pytest.param(
            stream(HELLO, USAGE, frame({"error": {"message": "x"}})), True, "Hel", id="error after its usage"
        ),
        pytest.param(stream(USAGE), True, "", id="only usage"),
    ],
)
async def test_failures_keep_reported_usage(
    model: OpenAICompatible, fake_model: FakeModel, play: Play, streamed: bool, text: str
) -> None:
    fake_model.play(play)
    partial = (await failing(model, streamed=streamed)).partial
    assert isinstance(partial, Reply)
    assert (partial.usage, partial.text) == (SPENT, text)


@pytest.mark.parametrize("leak", [KEY, HEADER, "sk-abcdefghijkl", "Bearer abcdefgh.ijkl"])
async def test_failures_never_show_keys(model: OpenAICompatible, fake_model: FakeModel, leak: str) -> None:
    fake_model.play(failure(401, {"message": f"Incorrect API key provided: {leak} is unknown."}))
    found = await failing(model)
    assert leak.removeprefix("Bearer ") not in f"{found!r} {found} {found.remedy}"
    assert "Incorrect API key provided" in found.message
    assert found.__cause__ is None and found.__suppress_context__


async def test_failures_show_foreign_text_in_one_short_line(
    model: OpenAICompatible, fake_model: FakeModel
) -> None:
    fake_model.play(failure(400, {"message": "bad\x1b[31m\n\tred\u202e " + "long " * 200}))
    found = await failing(model)
    assert re.fullmatch(r"[ -~…]+", found.message) and len(found.message) < 350


async def test_failures_name_the_key_and_where_it_comes_from(
    model: OpenAICompatible, fake_model: FakeModel
) -> None:
    fake_model.play(failure(401, {"message": "No."}))
    remedy = (await failing(model)).remedy or ""
    assert "FAKE_API_KEY" in remedy and "farthing doctor" in remedy


@pytest.mark.parametrize("kind", ["unreachable", "bad_response", "model_not_found"])
def test_failures_name_the_place_where_the_address_was_set(kind: str) -> None:
    by_env = failures.failure(kind, Provider(name=ENV_PROVIDER, base_url="http://x/v1"), "It failed").remedy
    by_settings = failures.failure(kind, Provider(name="mine", base_url="http://x/v1"), "It failed").remedy
    assert by_env is not None and by_settings is not None
    assert "FARTHING_BASE_URL" in by_env and "[providers" not in by_env
    assert "base_url of [providers.mine]" in by_settings
