"""Credentials: what is found and what passes; configured secrets never survive, in whatever form."""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.secrets.detect import entropy, find_credential
from runtime.secrets.redact import Redactor
from runtime.secrets.streamed import Streamed

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0xR"
"""Made up, as every value below; joined here so that no scanner takes this file for a leak."""

CREDENTIALS = [
    ("OpenAI key", "my key is sk-" + "proj-" + MIXED),
    ("OpenAI key", "sk-" + MIXED + MIXED),
    ("Anthropic key", "use sk-" + "ant-api03-" + MIXED + " please"),
    ("OpenRouter key", "sk-" + "or-v1-" + "0a1b2c3d" * 8),
    ("Google key", "AI" + "za" + MIXED + "abc"),
    ("Groq key", "gs" + "k_" + MIXED + MIXED),
    ("Hugging Face token", "h" + "f_" + MIXED),
    ("AWS key", "AK" + "IA" + "Q3EGVXTN5LZPW2JD"),
    ("GitHub token", "gh" + "p_" + MIXED + "abcd"),
    ("GitHub token", "github" + "_pat_" + MIXED * 2),
    ("GitLab token", "gl" + "pat-" + MIXED[:20]),
    ("Slack token", "xo" + "xb-" + "123456789012-" + MIXED),
    ("Slack webhook", "hooks.slack" + ".com/services/T0AB12CDE/B0AB12CDE/" + MIXED),
    ("Stripe key", "sk" + "_live_" + MIXED),
    ("Stripe key", "(rk" + "_test_" + MIXED + ")"),
    ("SendGrid key", "S" + "G." + MIXED[:22] + "." + MIXED),
    ("npm token", "np" + "m_" + MIXED + "abcd"),
    ("PyPI token", "py" + "pi-" + MIXED * 2),
    ("JSON web token", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0In0." + MIXED),
    ("private key", "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIE"),
    ("private key", "-----BEGIN " + "PRIVATE KEY-----"),
    ("private key", "-----BEGIN " + "OPENSSH PRIVATE KEY-----"),
    ("Azure key", "Endpoint=x;Account" + "Key=" + MIXED + MIXED + "=="),
    ("password in an address", "postgres://shop:wh33l@db.example/orders"),
    ("password", "password=correcthorse"),
    ("password", 'the config says "password": "swordfish"'),
    ("password", "My password is hunter22."),
    ("password", "pwd: Tr0ub4dor&3"),
    ("password", "PASSWORD = 's3cr3t!'"),
    ("token", "api_key: " + MIXED),
    ("token", "API key = " + MIXED),
    ("token", '{"client_secret": "' + MIXED + '"}'),
    ("token", "aws_secret_access_key = wJa1rXUt9nFEMI/K7MDENG/bPx2fiCYz5kL8qR3t"),
    ("token", "Authorization: Bearer " + MIXED),
    ("token", "curl -H 'X: Bearer " + MIXED + "'"),
    ("token", "token: 3f2a9c81d07b4e65a8f10c2d3e4b5a69"),
    ("random token", "the token for the shop, as agreed: " + MIXED),
]

HARMLESS = [
    "",
    "The customer likes the red bicycle with 27 gears.",
    "My order id is 123e4567-e89b-12d3-a456-426614174000.",
    "token: 123e4567-e89b-12d3-a456-426614174000",
    "Commit 3f2a9c81d07b4e65a8f10c2d3e4b5a690c1d2e3f fixes it.",
    "SHA-256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "![photo](data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 20 + "==)",
    "auth by picture data:image/png;base64," + MIXED * 5,
    "password: required",
    "Password is stored in the vault.",
    "The password is wrong.",
    "password=<your password>",
    "password={{ input.password }}",
    "password=${DB_PASSWORD}",
    "password=********",
    'key = {"secret": "OPENAI"}',
    "api_key: YOUR_API_KEY_GOES_HERE1",
    "Set OPENAI_API_KEY to your key.",
    "max_tokens: 128000",
    "token budget: 1500, tokens used: 20000000000000000",
    "The secret is patience.",
    "The key takeaway is that tokens are counted once.",
    "a key such as session_notes_2026_january_week_3",
    "the primary key is customer_order_line_item_identifier",
    "See https://example.com/docs/authentication/getting-started-with-tokens-in-2026",
    "https://example.com:8080/path and user@example.com",
    "mailto://someone@example.com",
    "sk-learn is a library; task-force-of-seven-people-and-more-people",
    "risk-assessment-for-the-second-quarter-of-the-year-2026",
    "The function authenticateUserWithExternalProviderAndRetry2 fails",
    "token_counter.count_tokens_of_messages_with_overhead",
    "Bearer of bad news",
    "Basic understanding of bicycles",
    "eyJ is how a web token begins",
    "Bitte das Passwort ändern",
    "秘密のパスワードを忘れました",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), CREDENTIALS, ids=range(len(CREDENTIALS)))
def test_credential_is_found_with_its_kind(kind: str, text: str) -> None:
    found = find_credential(text)
    assert found is not None
    assert found.kind == kind
    assert 0 <= found.start < found.end <= len(text)
    assert text[found.start : found.end] not in f"{found} {found!r}"


@pytest.mark.parametrize(("kind", "text"), CREDENTIALS, ids=range(len(CREDENTIALS)))
def test_credential_is_found_inside_longer_text(kind: str, text: str) -> None:
    found = find_credential(f"Please remember this for later.\n{text}\nThank you very much.")
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_ordinary_text_is_no_credential(text: str) -> None:
    assert find_credential(text) is None


def test_ids_and_hashes_of_any_value_pass() -> None:
    for number in range(200):
        identifier = uuid.UUID(int=number * 0x1234_5678_9ABC_DEF1_2345_6789 % 2**128)
        assert find_credential(f"The key of the record is {identifier}; its token count is {number}.") is None


def test_detection_takes_linear_time() -> None:
    for text in (
        "password is " * 5_000,
        "a" * 100_000,
        "sk-" * 30_000,
        "token: " + "a1" * 50_000,
        "://:" * 20_000,
        "eyJ." * 20_000,
        "data:image/png;base64," + "Ab1" * 30_000,
        "-----BEGIN " + "A " * 40_000,
        "auth " + "aB1-" * 25_000,
    ):
        begun = time.thread_time()
        find_credential(text)
        assert time.thread_time() - begun < 1


def test_entropy_is_in_bits_a_character() -> None:
    assert entropy("aaaa") == 0
    assert entropy("abcd") == 2
    assert entropy("aabb") == 1


SECRETS = {"openai": "sk-made/up+key=42", "quoted": 'p"ä\\ß\n/x', "short": "tyre"}


@pytest.mark.parametrize("value", SECRETS.values(), ids=SECRETS)
def test_redactor_replaces_every_form(value: str) -> None:
    name = next(each for each, held in SECRETS.items() if held == value)
    clean = Redactor(SECRETS)
    raw = value.encode()
    forms = [
        value,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps({"arguments": json.dumps({"key": value})}),
        json.dumps(value).replace("/", "\\/"),
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
    ]
    for form in forms:
        text = f"before {form} after"
        assert f"[secret {name}]" in clean.text(text)
        assert value not in clean.text(text)
        assert f"[secret {name}]".encode() in clean.raw(text.encode())
    if len(raw) > 8:
        for before in (b"", b"u", b"us", b"usr:"):
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                text = f"Basic {encode(before + raw).decode()}"
                assert f"[secret {name}]" in clean.text(text)
                assert f"[secret {name}]" in clean.raw(text.encode()).decode()


def test_redactor_gives_back_what_has_no_secret() -> None:
    clean = Redactor(SECRETS)
    for value in ("nothing here", b"nothing here", {"a": ["b", 1, None, {"c": 2.5}]}, 5, None, True):
        assert clean.value(value) is value
    assert Redactor({}).text("x") == "x"
    assert Redactor({"empty": ""}).text("x") == "x"


def test_redactor_goes_through_trees_and_keys() -> None:
    clean = Redactor({"a": "swordfish"})
    tree = {"headers": [{"X-Key": "swordfish"}, ("swordfish!",)], "swordfish": 1, "other": "fish"}
    assert clean.value(tree) == {
        "headers": [{"X-Key": "[secret a]"}, ["[secret a]!"]],
        "[secret a]": 1,
        "other": "fish",
    }
    assert tree["swordfish"] == 1


def test_redactor_replaces_the_longer_of_two_nested_secrets() -> None:
    clean = Redactor({"part": "abcdef", "whole": "abcdefghij"})
    assert clean.text("abcdefghij abcdef") == "[secret whole] [secret part]"


def test_redacted_json_is_still_json() -> None:
    clean = Redactor(SECRETS)
    event = json.dumps({"text": " ".join(SECRETS.values())}).encode()
    assert json.loads(clean.raw(event)) == {"text": "[secret openai] [secret quoted] [secret short]"}


def test_redactor_shows_nothing_of_its_secrets() -> None:
    assert not any(value in repr(Redactor(SECRETS)) for value in SECRETS.values())


@given(
    st.text(min_size=4, max_size=40).filter(lambda value: value.strip("[secrt x]") == value),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_no_secret_survives(value: str, before: str, after: str) -> None:
    clean = Redactor({"x": value})
    text = before + value + after
    assert "[secret x]" in clean.text(text)
    assert value not in clean.text(text).replace("[secret x]", "\x00")
    encoded = json.dumps(text)
    assert json.dumps(value)[1:-1] not in clean.raw(encoded.encode()).decode().replace("[secret x]", "\x00")
    assert clean.value({"k": [text]}) == {"k": [clean.text(text)]}


def test_redacting_costs_little_where_there_is_no_secret() -> None:
    clean = Redactor(
        {"openai": "sk-proj-" + MIXED, "weather": "wx-lKteral-9Q", "shop": "shp_0192837465afbecd"}
    )
    text = json.dumps({"text": "The customer asks how to fix a flat tyre on the rear wheel. " * 300})
    best = min(_seconds(clean, text) for _ in range(20))
    # Measured at about 0.3 µs a KB; the bound leaves room for a slow and busy machine.
    assert best / (len(text) / 1024) < 5e-6


def _seconds(clean: Redactor, text: str) -> float:
    begun = time.perf_counter()
    for _ in range(20):
        clean.text(text)
    return (time.perf_counter() - begun) / 20


PIECES = st.lists(st.text("abc", max_size=9), max_size=30)


@given(PIECES, st.lists(st.text("abc", min_size=3, max_size=7), min_size=1, max_size=4))
def test_text_in_pieces_is_cleaned_like_the_whole_however_it_is_cut(
    pieces: list[str], secrets: list[str]
) -> None:
    redactor = Redactor({f"S{number}": secret for number, secret in enumerate(secrets)})
    stream, shown = Streamed(redactor), ""
    whole = redactor.text("".join(pieces))
    for piece in pieces:
        shown += stream.add(piece)
        assert whole.startswith(shown)
    assert shown + stream.end() == whole


@given(st.text(max_size=20), st.text(max_size=20), st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_no_form_of_a_secret_is_shown_in_pieces(before: str, after: str, sizes: list[int]) -> None:
    secret = 'p/ss"w\u00e4rd+0123456789'
    encoded = base64.b64encode(secret.encode()).decode()
    for form in (secret, json.dumps(secret)[1:-1], quote(secret), encoded):
        whole, at, shown, stream = before + form + after, 0, "", Streamed(Redactor({"api": secret}))
        for size in sizes * len(whole):
            shown += stream.add(whole[at : at + size])
            at += size
        shown += stream.end()
        assert form[2:-2] not in shown and form[:8] not in shown.replace(before, "", 1)


def test_text_without_a_secret_is_shown_as_it_comes() -> None:
    stream = Streamed(Redactor({"api": "sk-0123456789"}))
    assert [stream.add(piece) for piece in ("Hello ", "s", "k-", "ipped ", "sk-01")] == [
        "Hello ", "", "", "sk-ipped ", "",
    ]  # fmt: skip
    assert stream.end() == "sk-01"
    assert Streamed(None).add("sk-0123456789") == "sk-0123456789"
