"""Every recorded request of this wire is reproduced."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from pi.ai.messages import Json
from pi.ai.wire.mistral_conversations.request import encode, headers, url
from pi.ai.wire_support.exchange import final_headers
from tests.ai.wire.fixed_conversation import recorded_call, recorded_payloads
from tests.ai.wire.mistral_conversations.calls import API, BASE_URL

ROWS = recorded_payloads(API)


def comparable(named: Any) -> Json:
    """Headers by lower-case name, without the machine in the User-Agent."""
    lower = {name.lower(): value for name, value in dict(named).items()}
    return {**lower, "user-agent": lower["user-agent"].partition(" (")[0]}


def test_all_recorded_cases_are_present() -> None:
    assert [row["reasoning"] for row in ROWS] == ["off", "high"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["reasoning"])
def test_a_recorded_request_is_reproduced(row: Json) -> None:
    call = recorded_call(row, BASE_URL, signature=UNSET)

    payload = encode(call)

    assert payload == row["payload"]
    assert msgspec.json.encode(payload) == msgspec.json.encode(row["payload"])
    assert url(call) == row["url"]
    assert comparable(final_headers(call, headers(call))) == comparable(row["headers"])
