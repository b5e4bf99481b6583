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
def test_what_is_new_is_said_and_what_is_gone_is_called_so(
    message: SystemMessage, text: str
) -> None:
    assert render_update(message) == text
