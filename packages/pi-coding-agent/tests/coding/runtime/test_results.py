"""Results in the JSON form of RPC."""

from __future__ import annotations

import msgspec

from pi.coding.port.results import Forked, ForkPoint, Queues


def test_results_are_encoded_with_the_names_of_the_rpc_protocol() -> None:
    answers = [
        Forked(text="t", cancelled=False),
        ForkPoint(entry_id="a", text="t"),
        Queues(steering=("s",)),
    ]

    assert [msgspec.to_builtins(answer) for answer in answers] == [
        {"text": "t", "cancelled": False},
        {"entryId": "a", "text": "t"},
        {"steering": ("s",), "followUp": ()},
    ]
