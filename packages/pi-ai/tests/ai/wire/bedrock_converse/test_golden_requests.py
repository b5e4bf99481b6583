"""Every recorded payload of this wire is reproduced. No recorded row has a URL or headers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi.ai.messages import Json
from pi.ai.wire.bedrock_converse.request import encode
from tests.ai.wire.bedrock_converse.calls import API, BASE_URL
from tests.ai.wire.fixed_conversation import recorded_call, recorded_payloads

ROWS = recorded_payloads(API)


def shown(value: Any) -> Any:
    """A payload with bytes in the format of the recording."""
    match value:
        case bytes():
            return f"<{len(value)} raw bytes>"
        case dict():
            return {key: shown(item) for key, item in value.items()}
        case list():
            return [shown(item) for item in value]
        case _:
            return value


def test_all_recorded_cases_are_present() -> None:
    assert [row["reasoning"] for row in ROWS] == ["off", "high"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["reasoning"])
def test_a_recorded_payload_is_reproduced(row: Json) -> None:
    payload = shown(encode(recorded_call(row, BASE_URL)))

    assert payload == row["payload"]
    assert msgspec.json.encode(payload) == msgspec.json.encode(row["payload"])
