from __future__ import annotations

import pytest

from pi.ai.messages import SystemMessage
from pi.ai.transcript import render_update


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (SystemMessage(content=""), ""),
        (SystemMessage(content="rule"), "rule"),
        (
            SystemMessage(content="rule", sections={"cwd": "here", "old": None}),
            'rule\n\nhere\n\nThe earlier section "old" no longer applies.',
        ),
        (
            SystemMessage(content="", sections={"a": None, "b": None}),
            'The earlier section "a" no longer applies.\n\n'
            'The earlier section "b" no longer applies.',
        ),
    ],
)
def test_an_update_contains_new_sections_and_names_removed_ones(
    message: SystemMessage, text: str
) -> None:
    assert render_update(message) == text
