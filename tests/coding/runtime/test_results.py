"""Answers in the JSON names of RPC."""

from __future__ import annotations

import msgspec

from pi.coding.port.results import Forked, ForkPoint, Queues


def test_answers_have_the_names_of_the_protocol() -> None:
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
