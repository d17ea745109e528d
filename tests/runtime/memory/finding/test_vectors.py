"""Embeddings: centred cosines kept in step, vectors from elsewhere, the static embedder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.finding import embed
from runtime.memory.finding import vectors as vectors_module
from runtime.memory.finding.config import FindingConfig
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
    centre = np.rint(units.mean(axis=0) * 1024) / 1024
    moved = units - centre
    aim = query / np.linalg.norm(query) - centre
    cosines: np.ndarray = moved @ aim / (np.linalg.norm(moved, axis=1) * np.linalg.norm(aim))
    return cosines


@given(st.integers(0, 2**32), st.integers(3, 40))
def test_cosines_agree_with_the_definition(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    rows, query = chance.normal(1, 1, (count, 8)), chance.normal(1, 1, 8)
    vectors = Vectors()
    vectors.set(range(1, count + 1), rows)
    assert vectors.cosines(vectors.aim(query), count + 1)[1:] == pytest.approx(
        centred_cosines(rows, query), abs=1e-4
    )


def test_cosines_after_replacing_and_dropping_are_those_of_what_is_left() -> None:
    chance = np.random.default_rng(7)
    rows, query = chance.normal(1, 1, (9, 8)), chance.normal(1, 1, 8)
    vectors = Vectors()
    vectors.set(range(1, 13), chance.normal(1, 1, (12, 8)))
    vectors.cosines(vectors.aim(query), 13)
    for row in (10, 11, 12):
        vectors.drop(row)
    vectors.set([1, 2], chance.normal(1, 1, (2, 8)))
    vectors.set([1, *range(1, 10)], [rows[3], *rows])
    found = vectors.cosines(vectors.aim(query), 13)
    assert len(vectors) == 9
    assert found[1:10] == pytest.approx(centred_cosines(rows, query), abs=1e-4)
    assert not found[10:].any()


@pytest.mark.parametrize("exact_rows", [0, 1000])
def test_a_vector_that_leaves_the_mean_where_it_is_is_compared_as_well(exact_rows: int) -> None:
    rows = np.eye(200)[np.arange(400) % 2]
    vectors = filled(rows, exact_rows)
    vectors.cosines(vectors.aim(rows[0]), 401)
    vectors.drop(7)
    vectors.set([7, 9], [rows[0], rows[0]])
    found = vectors.cosines(vectors.aim(rows[0]), 401)
    assert found[[7, 9]] == pytest.approx(found[1], abs=1e-5)
    assert found[1] > found[2] + 0.5


@given(st.integers(0, 2**32), st.sampled_from([1, 1024]), st.sampled_from([0, 100]))
def test_vectors_kept_at_once_or_one_by_one_are_the_same(seed: int, grain: int, exact_rows: int) -> None:
    chance = np.random.default_rng(seed)
    rows, vectors = chance.integers(1, 12, 20).tolist(), chance.normal(1, 1, (20, 140))
    at_once, singly, query = Vectors(exact_rows), Vectors(exact_rows), chance.normal(1, 1, 140)
    # With the coarser grain the centre stays where it is, whatever is written.
    with mock.patch.object(vectors_module, "_GRAIN", grain):
        at_once.set(rows, vectors)
        for row, vector in zip(rows, vectors, strict=True):
            singly.set([row], [vector])
            singly.cosines(singly.aim(query), 13)
        assert len(at_once) == len(singly) == len(set(rows))
        assert at_once.cosines(at_once.aim(query), 13) == pytest.approx(
            singly.cosines(singly.aim(query), 13), abs=1e-5
        )


def filled(rows: np.ndarray, exact_rows: int, first: int = 1) -> Vectors:
    vectors = Vectors(exact_rows)
    vectors.set(range(first, first + len(rows)), rows)
    return vectors


def test_cosines_of_rows_far_apart_agree_with_the_definition() -> None:
    chance = np.random.default_rng(3)
    rows, query = chance.normal(1, 1, (40, 100)), chance.normal(1, 1, 100)
    vectors = filled(rows, 100_000, first=16_364)
    found = vectors.cosines(vectors.aim(query), 16_404)
    assert found[16_364:] == pytest.approx(centred_cosines(rows, query), abs=1e-4)
    assert not found[:16_364].any()


@given(st.integers(0, 2**32))
def test_exact_cosines_of_some_rows_are_those_of_the_definition(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows, query = chance.normal(1, 1, (50, 200)), chance.normal(1, 1, 200)
    vectors, some = filled(rows, 0), chance.permutation(50)[:20]
    assert vectors.is_rough(51)
    found = vectors.exact(vectors.aim(query), some + 1)
    assert found == pytest.approx(centred_cosines(rows, query)[some], abs=1e-4)


def test_estimated_cosines_have_the_order_and_the_spread_of_the_exact_ones() -> None:
    chance = np.random.default_rng(11)
    topics = chance.normal(0, 1, (20, 256))
    rows = topics[chance.integers(0, 20, 3000)] + chance.normal(0, 1, (3000, 256))
    rough, exact = filled(rows, 0), filled(rows, 5000)
    query = topics[4] + chance.normal(0, 0.3, 256)
    one, other = rough.cosines(rough.aim(query), 3001), exact.cosines(exact.aim(query), 3001)
    assert not np.allclose(one, other)
    assert one.std() == pytest.approx(other.std(), rel=0.1)
    assert np.corrcoef(one, other)[0, 1] > 0.8
    assert len(set(np.argsort(one)[-300:]) & set(np.argsort(other)[-100:])) >= 95


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("query", ["", "red tile"])
def test_recall_by_estimates_scores_what_it_shows_by_whole_vectors(seed: int, query: str) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(0, 1, (300, 192))
    vector = vectors[7] + chance.normal(0, 0.2, 192)
    items = [item(str(number), f"tile {number}", 1, session=str(number % 40)) for number in range(300)]
    answers = []
    for exact in (0, 1000):
        index = MemoryIndex(FindingConfig(exact_vectors=exact))
        index.add(items, list(vectors))
        answers.append(index.recall(query, 60, LATER, vector=vector, explain=True))
    rough, whole = answers
    assert rough.hits[0].id == whole.hits[0].id == "7"
    assert rough.used <= 60
    for hit, parts in zip(rough.hits, rough.explained(), strict=True):
        assert sum(parts.values()) == pytest.approx(hit.score, abs=1e-4)
    assert [hit.score for hit in rough.hits] == sorted((hit.score for hit in rough.hits), reverse=True)


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
    recalled = index.recall("jajj", 500, LATER, explain=True)
    assert recalled.hits[0].id == "1"
    assert recalled.explained()[0]["dense"] > 0


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
