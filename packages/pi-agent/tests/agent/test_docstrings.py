from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.tools.signatures import read_docstring

GOOGLE = """Search
the web.

More words about it.

Args:
    query (str): what to look
        for, in words
    limit: how many results

Returns:
    limit: is not what this says
"""
REST = """Search
the web.

:param str query: what to look
    for, in words
:param limit: how many results
:returns: something
"""
PLAIN = """Search
the web.
query: what to look
  for, in words

- `limit`: how many results
"""


@pytest.mark.parametrize("text", [GOOGLE, REST, PLAIN])
def test_google_rest_and_plain_docstrings_are_parsed_alike(text: str) -> None:
    assert read_docstring(text, ["query", "limit"]) == (
        "Search the web.",
        {"query": "what to look for, in words", "limit": "how many results"},
    )


def test_a_description_may_begin_on_the_next_line() -> None:
    text = "Args:\n    query:\n        what to look for\n    other: not a parameter"
    assert read_docstring(text, ["query"]) == ("", {"query": "what to look for"})


def test_prose_with_colons_is_not_parsed_as_a_parameter() -> None:
    text = "Note: it is slow.\nIt is here: so."
    assert read_docstring(text, ["query"]) == ("Note: it is slow. It is here: so.", {})


def test_an_empty_docstring_has_no_description_and_no_parameters() -> None:
    assert read_docstring("", ["query"]) == ("", {})


@given(st.text(st.sampled_from(":param query()-`* \n\tA"), max_size=60))
def test_any_text_can_be_parsed_as_a_docstring(text: str) -> None:
    summary, reported = read_docstring(text, ["query", "param"])
    assert "\n" not in summary
    assert set(reported) <= {"query", "param"}
