from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pi.ai.json_text import json_bytes
from pi.ai.request import Call
from pi.ai.wire.google_generate.request import encode
from pi.ai.wire.google_generate.rest import headers, url
from pi.ai.wire_support.exchange import final_headers
from tests.ai.wire.awkward_histories import HISTORIES
from tests.ai.wire.google_generate.recorded_calls import history_call, payload_call, rows

PAYLOADS = rows("payloads-by-provider.jsonl")
TRANSFORMS = rows("history-transforms.jsonl")

NOT_OURS = {"x-goog-api-client"}
"""The header that identifies Google's SDK, which we do not send."""


def shown(call: Call) -> Any:
    """The payload as it is sent and stored, without lone surrogates."""
    return msgspec.json.decode(json_bytes(encode(call)))


def without_system(user_agent: str) -> str:
    return user_agent.partition(" (")[0]


every_payload = pytest.mark.parametrize(
    "row", PAYLOADS, ids=[f"{row['provider']}-{row['reasoning']}" for row in PAYLOADS]
)


def test_every_recorded_case_is_known() -> None:
    assert len(PAYLOADS) == 6
    assert {row["case"] for row in TRANSFORMS} == HISTORIES.keys()


@every_payload
def test_a_recorded_payload_is_reproduced(row: Any) -> None:
    assert shown(payload_call(row)) == row["payload"]


@every_payload
def test_a_recorded_address_is_reproduced(row: Any) -> None:
    assert url(payload_call(row)) == row["url"]


@every_payload
def test_recorded_headers_are_reproduced(row: Any) -> None:
    call = payload_call(row)

    sent = {name.lower(): value for name, value in final_headers(call, headers(call))}

    recorded = {name: value for name, value in row["headers"].items() if name not in NOT_OURS}
    for fields in (sent, recorded):
        fields["user-agent"] = without_system(fields["user-agent"])
    assert sent == recorded


@pytest.mark.behaviour(
    "foreign-thinking-is-dropped", "calls-and-results-are-paired", "lone-surrogates-are-cleaned"
)
@pytest.mark.parametrize("row", TRANSFORMS, ids=[row["case"] for row in TRANSFORMS])
def test_a_recorded_history_is_reproduced(row: Any) -> None:
    assert shown(history_call(row["case"]))["contents"] == row["messages"]
