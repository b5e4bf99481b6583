from __future__ import annotations

import pytest

from pi.ai.diagnostics import Repairs
from pi.ai.errors import BadRequest
from pi.ai.wire.openai_completions.repairs import next_repair

REFUSAL = BadRequest("400: no", status=400)


@pytest.mark.trap(21)
def test_a_refused_request_with_strict_tools_is_worth_another_try_without() -> None:
    tools = [{"type": "custom"}, {"type": "function", "function": {"name": "a", "strict": True}}]

    assert next_repair(REFUSAL, {"tools": tools}) == Repairs(strict=True)


@pytest.mark.parametrize(
    "payload",
    [{}, {"tools": [{"type": "function", "function": {"strict": False}}]}, {"tools": ["odd"]}],
)
def test_a_refused_request_without_them_is_not(payload: dict[str, object]) -> None:
    assert next_repair(REFUSAL, payload) is None
