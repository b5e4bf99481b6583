from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.wire.mistral_conversations.request import short_id


def test_an_id_of_mistral_is_kept() -> None:
    assert short_id("D681PevKs") == "D681PevKs"


@pytest.mark.behaviour("tool-call-ids-are-valid")
@given(st.text())
def test_any_other_id_gets_one_that_mistral_takes_and_always_the_same(identifier: str) -> None:
    short = short_id(identifier)

    assert re.fullmatch(r"[A-Za-z0-9]{9}", short)
    assert short_id(identifier) == short
    assert short_id(f"{identifier}!") != short
