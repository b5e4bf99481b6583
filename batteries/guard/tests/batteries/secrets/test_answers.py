"""Answers of models: placeholders in tool calls, also when they arrive in pieces."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from pi.ai.events import StreamEvent
from pi.batteries.secrets.answers import RestoreRules, Restoring
from pi.batteries.secrets.sources import Entry
from pi.batteries.secrets.vault import OPENING, Vault
from pi.extension import TextDelta, ToolCall, ToolCallDelta, ToolCallEnd, ToolCallStart

SECRET = 'line "one"\nline\\two <<\ttab'


async def restored(tool: str, pieces: list[str], vault: Vault) -> list[StreamEvent]:
    async def answer() -> AsyncIterator[StreamEvent]:
        yield ToolCallStart(content_index=0, id="1", tool_name=tool)
        for piece in pieces:
            yield ToolCallDelta(content_index=0, delta=piece)
        call = ToolCall(id="1", name=tool, arguments=json.loads("".join(pieces)))
        yield ToolCallEnd(content_index=0, tool_call=call)

    return [event async for event in Restoring(vault, RestoreRules()).events(answer())]


@pytest.fixture
def vault() -> Vault:
    made = Vault(b"k" * 32)
    made.update([Entry(content=SECRET)])
    return made


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_a_placeholder_that_arrives_in_pieces_is_held_back(vault: Vault, size: int) -> None:
    mark = vault.mask(SECRET)
    written = json.dumps({"a": f"x << {mark}{mark} <<$en", "b": f"<{mark}"})
    pieces = [written[place : place + size] for place in range(0, len(written), size)]

    events = await restored("write", pieces, vault)

    deltas = [event.delta for event in events if isinstance(event, ToolCallDelta)]
    expected = {"a": f"x << {SECRET}{SECRET} <<$en", "b": f"<{SECRET}"}
    assert json.loads("".join(deltas)) == expected
    assert not any(f"{OPENING}{n:x}" in "".join(deltas) for n in range(16))
    end = events[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.tool_call.arguments == expected


@pytest.mark.parametrize("tool", ["web_search", "mcp__s__t", "gh", "browser", "generate_image"])
async def test_arguments_that_leave_the_machine_keep_the_placeholder(
    vault: Vault, tool: str
) -> None:
    written = json.dumps({"query": vault.mask(SECRET)})

    events = await restored(tool, [written], vault)

    assert [event.delta for event in events if isinstance(event, ToolCallDelta)] == [written]
    end = events[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.tool_call.arguments == json.loads(written)


@pytest.mark.parametrize("before", ["", " ", "@", "\u200b", "<", '"'])
async def test_an_address_keeps_the_placeholder(vault: Vault, before: str) -> None:
    path = f"{before}https://a.example/?key={vault.mask(SECRET)}"

    events = await restored("read", [json.dumps({"path": path})], vault)

    end = events[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.tool_call.arguments == {"path": path}


async def test_text_of_the_model_is_not_restored(vault: Vault) -> None:
    text = TextDelta(content_index=0, delta=vault.mask(SECRET))

    async def answer() -> AsyncIterator[StreamEvent]:
        yield text

    found = [event async for event in Restoring(vault, RestoreRules()).events(answer())]
    assert found == [text]
