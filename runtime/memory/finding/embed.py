"""Embedders: texts to vectors, without a network. Each loads its library when it is made, or says what is
missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from runtime.errors import BadConfig
from runtime.memory.finding.columns import Array


class Embedder(Protocol):
    """Turns texts into vectors of one length; blocking, no network. Called with a batch when items are
    added, with one text when a query comes in."""

    def __call__(self, texts: Sequence[str]) -> Sequence[Sequence[float] | Array]: ...


class StaticEmbedder:
    """Mean of static word-piece vectors (wordllama, 256 numbers a text): about 0.1 ms a text, English.

    The weights are read from the installed package's own files: importing it would set up the process's
    logging and by default look for its files on the network.
    """

    def __init__(self, longest: int = 20_000) -> None:
        """`longest`: characters of a text that are looked at. Raises BadConfig where the extra is not
        installed."""
        root = package_folder("wordllama")
        weights = import_module("safetensors.numpy").load_file(
            root / "weights" / "l2_supercat_256.safetensors"
        )
        self._weights: Array = np.asarray(next(iter(weights.values())), dtype=np.float32)
        path = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._longest = longest

    def __call__(self, texts: Sequence[str]) -> list[Array]:
        cut = [text[: self._longest] for text in texts]
        if len(cut) == 1:
            # One text is not worth waking the tokenizer's threads.
            return [self._mean(self._tokenizer.encode(cut[0], add_special_tokens=False).ids)]
        encoded = self._tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        return [self._mean(encoding.ids) for encoding in encoded]

    def _mean(self, ids: Sequence[int]) -> Array:
        if not ids:
            return np.zeros(self._weights.shape[1], dtype=np.float32)
        mean: Array = np.add.reduce(self._weights.take(ids, axis=0, mode="clip"))
        mean /= len(ids)
        return mean


def package_folder(name: str) -> Path:
    """Where an optional package lies, without importing it. Raises BadConfig where it is not installed."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise BadConfig(
            f"The package {name!r} is not installed.",
            remedy="Install it with: pip install 'farthing[embed]'.",
        )
    return Path(spec.submodule_search_locations[0])
