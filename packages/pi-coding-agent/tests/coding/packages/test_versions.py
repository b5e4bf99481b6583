from __future__ import annotations

import itertools

import pytest

from pi.coding.packages.programs import is_newer

PYTHON = "0.9 1.0.dev1 1.0a1.dev1 1.0a1 1.0a2 1.0b1 1.0rc1 1.0 1.0.post1 1.1 1.10 2!0.1"
NPM = "0.9.0 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0 1.0.1"


@pytest.mark.parametrize("order", [PYTHON, NPM])
def test_versions_have_an_order(order: str) -> None:
    for older, newer in itertools.combinations(order.split(), 2):
        assert is_newer(newer, older), (newer, older)
        assert not is_newer(older, newer), (newer, older)


@pytest.mark.parametrize(
    ("one", "other"), [("1.0", "1.0.0"), ("v1.2", "1.2"), ("1.0+a", "1.0+b"), ("1.0", "1.0")]
)
def test_some_versions_are_equal(one: str, other: str) -> None:
    assert not is_newer(one, other)
    assert not is_newer(other, one)


@pytest.mark.parametrize(("one", "other"), [("next", "1.0"), ("1.0", ""), ("", "")])
def test_versions_that_cannot_be_compared_are_not_newer(one: str, other: str) -> None:
    assert not is_newer(one, other)
