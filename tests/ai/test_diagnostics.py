from __future__ import annotations

from pi.ai.diagnostics import STRICT_REJECTED, repair_note
from pi.ai.errors import BadRequest


def test_a_repair_is_noted_with_the_refusal_that_asked_for_it() -> None:
    assert repair_note(STRICT_REJECTED, BadRequest("400: no", status=400), 7) == {
        "type": "strict_schema_rejected",
        "timestamp": 7,
        "error": {"message": "400: no"},
    }
