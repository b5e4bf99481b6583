from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.wire.mistral_conversations.history import short_id


def test_a_valid_mistral_id_is_kept() -> None:
    assert short_id("D681PevKs") == "D681PevKs"


@pytest.mark.behaviour("tool-call-ids-are-valid")
@given(st.text())
def test_any_other_id_is_mapped_to_a_stable_valid_mistral_id(identifier: str) -> None:
    short = short_id(identifier)

    assert re.fullmatch(r"[A-Za-z0-9]{9}", short)
    assert short_id(identifier) == short
    assert short_id(f"{identifier}!") != short
