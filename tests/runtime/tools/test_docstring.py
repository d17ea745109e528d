"""Docstrings of every style."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.tools.docstring import argument_texts, first_paragraph

GOOGLE = """Find a train,
or none.

The fastest goes first.

Args:
    start: Where from: a city.
    end (str, optional): Where to,
        by name.

        Not a code.
    *rest: More.

Raises:
    ValueError: Never.
"""
NUMPY = """Find a train,
or none.

Parameters
----------
start : str
    Where from: a city.
end, rest
    Where to.

Returns
-------
list
    Trains.
"""
SPHINX = """Find a train,
or none.
:param start: Where from: a city.
:param str end: Where to,
    by name.
:returns: Trains.
:rtype: list
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_first_paragraph_is_the_description(doc: str) -> None:
    assert first_paragraph(doc) == "Find a train, or none."


@pytest.mark.parametrize(
    ("doc", "texts"),
    [
        (GOOGLE, {"start": "Where from: a city.", "end": "Where to, by name. Not a code.", "rest": "More."}),
        (NUMPY, {"start": "Where from: a city.", "end": "Where to.", "rest": "Where to."}),
        (SPHINX, {"start": "Where from: a city.", "end": "Where to, by name."}),
        ("Just words.", {}),
        ("Args:\n", {}),
        (None, {}),
    ],
    ids=["google", "numpy", "sphinx", "none", "empty", "absent"],
)
def test_what_is_said_of_arguments_is_found(doc: str | None, texts: dict[str, str]) -> None:
    assert argument_texts(doc) == texts


@given(
    st.text()
    | st.lists(st.sampled_from([*GOOGLE.splitlines(), *NUMPY.splitlines(), *SPHINX.splitlines()])).map(
        "\n".join
    )
)
def test_any_text_is_a_docstring(doc: str) -> None:
    assert "\n" not in first_paragraph(doc)
    assert all(text and "\n" not in text for text in argument_texts(doc).values())
