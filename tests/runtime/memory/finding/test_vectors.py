"""Embeddings: centred cosines kept in step, vectors from elsewhere, the static embedder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.finding import embed
from runtime.memory.finding.embed import Embedder, StaticEmbedder
from runtime.memory.finding.index import MemoryIndex
from runtime.memory.finding.vectors import Vectors
from tests.runtime.memory.finding.build import LATER, ids, item

needs_wordllama = pytest.mark.skipif(
    find_spec("wordllama") is None, reason="the extra [embed] is not installed"
)


def centred_cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The definition, spelled out."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    moved = units - units.mean(axis=0)
    aim = query / np.linalg.norm(query) - units.mean(axis=0)
    cosines: np.ndarray = moved @ aim / (np.linalg.norm(moved, axis=1) * np.linalg.norm(aim))
    return cosines


@given(st.integers(0, 2**32), st.integers(3, 40))
def test_cosines_agree_with_the_definition(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    rows, query = chance.normal(1, 1, (count, 8)), chance.normal(1, 1, 8)
    vectors = Vectors()
    for row, vector in enumerate(rows, start=1):
        vectors.set(row, vector)
    assert vectors.cosines(query, count + 1)[1:] == pytest.approx(centred_cosines(rows, query), abs=1e-4)


def test_cosines_after_replacing_and_dropping_are_those_of_what_is_left() -> None:
    chance = np.random.default_rng(7)
    rows, query = chance.normal(1, 1, (9, 8)), chance.normal(1, 1, 8)
    vectors = Vectors()
    for row in range(1, 13):
        vectors.set(row, chance.normal(1, 1, 8))
    vectors.cosines(query, 13)
    for row in (10, 11, 12):
        vectors.drop(row)
    for row, vector in enumerate(rows, start=1):
        vectors.set(row, vector)
    found = vectors.cosines(query, 13)
    assert len(vectors) == 9
    assert found[1:10] == pytest.approx(centred_cosines(rows, query), abs=1e-4)
    assert not found[10:].any()


def test_recall_with_given_vectors_finds_what_words_do_not() -> None:
    index = MemoryIndex()
    texts = ["Our spaniel had puppies", "The gutter leaks", "Rent is due on Friday", "He paints in oils"]
    index.add([item(str(number), text, number) for number, text in enumerate(texts)], list(np.eye(4) + 0.1))
    assert ids(index.recall("any dogs?", 500, LATER, vector=[1.0, 0.1, 0.1, 0.1]))[0] == "0"
    index.remove(["0"])
    assert "0" not in ids(index.recall("any dogs?", 500, LATER, vector=[1.0, 0.1, 0.1, 0.1]))


class Letters:
    """An embedder that counts letters."""

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.lower().count(letter)) for letter in "abcdefghij"] for text in texts]


def test_index_takes_any_embedder() -> None:
    embedder: Embedder = Letters()
    index = MemoryIndex(embedder=embedder)
    index.add([item("1", "jjjj", 1), item("2", "gigh", 2), item("3", "abba", 3)])
    hits = index.recall("jajj", 500, LATER).hits
    assert hits[0].id == "1"
    assert hits[0].parts["dense"] > 0


@needs_wordllama
def test_static_embedder_is_nearer_for_like_meanings() -> None:
    dog, puppy, tax = (
        np.asarray(vector) for vector in StaticEmbedder()(["a dog barks", "puppies", "tax forms"])
    )

    def cosine(one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

    assert cosine(dog, puppy) > cosine(dog, tax) + 0.1


@needs_wordllama
def test_static_embedder_bears_empty_and_huge_texts() -> None:
    empty, huge = StaticEmbedder(longest=1000)(["", "word " * 100_000])
    assert not empty.any()
    assert np.isfinite(huge).all()


def test_missing_package_says_what_to_install() -> None:
    with pytest.raises(BadConfig, match=r"farthing\[embed\]"):
        embed.package_folder("surely_not_installed_anywhere")
