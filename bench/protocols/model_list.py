"""The models that the mock server claims to have: ``GET …/models``. Pure."""

from __future__ import annotations

from bench.protocols.script import EXAMPLES, Json
from bench.protocols.wire import CREATED

_CREATED_TEXT = "2026-01-01T00:00:00Z"


def openai() -> Json:
    """The list in OpenAI's format."""
    models = [
        {"id": name, "object": "model", "created": CREATED, "owned_by": "mock"} for name in EXAMPLES
    ]
    return {"object": "list", "data": models}


def anthropic() -> Json:
    """The list in Anthropic's format, all on one page."""
    models = [
        {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": _CREATED_TEXT,
            "lifecycle": "active",
        }
        for name in EXAMPLES
    ]
    return {"data": models, "has_more": False, "first_id": EXAMPLES[0], "last_id": EXAMPLES[-1]}
