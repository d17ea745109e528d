"""Opening a provider's model. What a kind of model needs is imported when one is opened."""

from __future__ import annotations

from pathlib import Path

from runtime.clock import Clock
from runtime.messages import LanguageModel
from runtime.providers import SCRIPTED, Provider


def open_model(provider: Provider, clock: Clock, *, script: Path | None = None) -> LanguageModel:
    """The provider's model; `script` is what the scripted one plays, null lets it rehearse by rule.

    Raises BadInput for a script that cannot be used. Close the model when done.
    """
    if provider.name == SCRIPTED:
        from runtime.models.scripted import ScriptedModel

        return ScriptedModel.from_file(script, clock) if script is not None else ScriptedModel(clock=clock)
    from runtime.models.openai_compatible import OpenAICompatible

    return OpenAICompatible(provider, clock)
