"""Merging of streamed texts, and QR codes."""

from __future__ import annotations

import hashlib

import pytest

from pi.batteries.collab.outbox import Merger, RunView
from pi.batteries.collab.qr import encode_qr, half_blocks
from pi.extension import Json


def delta(text: str, kind: str = "text_delta", index: int = 0) -> Json:
    inner = {"type": kind, "contentIndex": index, "delta": text}
    return {"type": "message_update", "usage": {}, "assistantMessageEvent": inner}


def plain(events: list[Json]) -> list[str]:
    return [e.get("assistantMessageEvent", e).get("delta", e["type"]) for e in events]


def test_texts_are_merged_up_to_the_last_whole_word() -> None:
    merger = Merger(lambda value: value)
    for word in ("One ", "two", " thr", "ee"):
        assert merger.add(delta(word)) == []
    assert plain(merger.flush()) == ["One two "]
    assert plain(merger.flush()) == []
    merger.add(delta(" four"))
    assert plain(merger.flush(all=True)) == ["three four"]
    assert not merger.waiting


def test_other_blocks_and_events_flush_pending_text() -> None:
    merger = Merger(lambda value: value)
    merger.add(delta("thought", "thinking_delta"))
    assert plain(merger.add(delta("text", index=1))) == ["thought"]
    assert plain(merger.add({"type": "message_end"})) == ["text", "message_end"]
    update = {"type": "tool_execution_update", "toolCallId": "a"}
    assert merger.add({**update, "n": 1}) == []
    assert merger.add({**update, "n": 2}) == []
    assert merger.flush() == [{**update, "n": 2}], "only the last output matters"
    merger.add(update)
    assert plain(merger.add({"type": "tool_execution_end", "toolCallId": "a"})) == [
        "tool_execution_end"
    ]


def test_redactors_receive_whole_words() -> None:
    merger = Merger(lambda value: value.replace("sk-secret", "***"))
    found = []
    for piece in "my sk-secret is safe":
        merger.add(delta(piece))
        found += plain(merger.flush())
    found += plain(merger.flush(all=True))
    assert "".join(found) == "my *** is safe"
    merger.add(delta("x" * 600))
    assert plain(merger.flush()) == ["x" * 600], "a word without end is sent"


def test_the_partial_response_is_assembled_from_events() -> None:
    run = RunView()
    run.see({"type": "message_start", "message": {"role": "assistant", "content": []}})
    run.see(delta("Think", "thinking_delta"))
    run.see(delta("He", index=1))
    run.see(delta("llo", index=1))
    start = {"type": "toolcall_start", "contentIndex": 2, "id": "c", "toolName": "bash"}
    run.see({"type": "message_update", "assistantMessageEvent": start})
    run.see(delta("{", "toolcall_delta", 2))
    run.see(delta("lost", index=9))
    assert run.partial == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Think"},
            {"type": "text", "text": "Hello"},
            {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}},
        ],
    }
    run.see({"type": "message_end"})
    assert not run.partial
    run.see({"type": "tool_execution_start", "toolCallId": "c"})
    run.see({"type": "tool_execution_update", "toolCallId": "c", "n": 1})
    run.see({"type": "tool_execution_update", "toolCallId": "c", "n": 2})
    assert [event.get("n") for event in run.tools()] == [None, 2]
    run.see({"type": "agent_settled"})
    assert run.tools() == []


@pytest.mark.parametrize(
    ("length", "size", "digest"),
    [
        (17, 21, "6005f01438aa6c2b"),
        (120, 41, "cac410b3d0189629"),
        (271, 57, "36e703067c5b6d6f"),
        (425, 69, "5d0ea58a5fcc0865"),
    ],
)
def test_qr_codes_match_those_of_another_encoder(length: int, size: int, digest: str) -> None:
    """The digests are of codes that were compared with those of another encoder."""
    code = encode_qr(bytes((n * 7 + 3) % 256 for n in range(length)))
    assert (len(code), {len(row) for row in code}) == (size, {size})
    dots = "".join("1" if dark else "0" for row in code for dark in row)
    assert hashlib.sha256(dots.encode()).hexdigest()[:16] == digest
    lines = half_blocks(code)
    assert {len(line) for line in lines} == {size + 4}


def test_a_text_that_is_too_long_for_a_qr_code_is_rejected() -> None:
    with pytest.raises(ValueError, match="too long"):
        encode_qr(bytes(426))
