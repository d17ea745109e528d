"""What a model provider is: where it answers, with which key, at which prices."""

from __future__ import annotations

import msgspec


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Nano-dollars for a million tokens of each kind. `cached` and `cache_write` null: as `input`."""

    input: int
    output: int
    cached: int | None = None
    cache_write: int | None = None


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint that speaks the OpenAI chat-completions format, or the scripted model.

    `key` is the secret itself, null where none is set (local servers get the word `none`); `key_from` says
    in words where it came from or should come from. `free`: calls cost nothing, source `local`. `prices`
    are the user's own, by model name. `price_as` is the provider's id in genai-prices, only for known
    hosts. `window` and `max_output` in tokens, null where unknown.
    """

    name: str
    base_url: str
    key: str | None = None
    key_from: str = ""
    headers: dict[str, str] = {}
    default_model: str | None = None
    prices: dict[str, Price] = {}
    price_as: str | None = None
    free: bool = False
    window: int | None = None
    max_output: int | None = None
    timeout_s: float = 120.0

    def __repr__(self) -> str:
        """Never the key itself."""
        return f"Provider(name={self.name!r}, base_url={self.base_url!r}, key={'set' if self.key else None})"


class ModelName(msgspec.Struct, frozen=True):
    """`provider:name`, taken apart."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


SCRIPTED = "scripted"
ENV_PROVIDER = "env"
"""The provider that `FARTHING_BASE_URL` makes."""

BUILT_IN: tuple[Provider, ...] = (
    Provider(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_from="OPENAI_API_KEY",
        default_model="gpt-4.1-mini",
        price_as="openai",
    ),
    Provider(
        name="anthropic",
        base_url="https://api.anthropic.com/v1",
        key_from="ANTHROPIC_API_KEY",
        price_as="anthropic",
    ),
    Provider(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_from="GEMINI_API_KEY",
        price_as="google",
    ),
    Provider(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_from="OPENROUTER_API_KEY",
        price_as="openrouter",
    ),
    Provider(name="ollama", base_url="http://127.0.0.1:11434/v1", free=True),
    Provider(name="llamacpp", base_url="http://127.0.0.1:8080/v1", default_model="default", free=True),
    Provider(name="local", base_url="http://127.0.0.1:8000/v1", default_model="default", free=True),
    Provider(name=SCRIPTED, base_url="", default_model="rehearsal"),
)
