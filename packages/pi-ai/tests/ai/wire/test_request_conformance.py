from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.ai.wire_support.handoff import NO_IMAGES
from tests.ai.wire.conformance import SYSTEM, WIRES, recording
from tests.ai.wire.exchanges import exchange
from tests.ai.wire.replay_server import Replay, Request

RED = Image(
    mime_type="image/png",
    data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAA"
    "AElFTkSuQmCC",
)
BLUE = Image(
    mime_type="image/png",
    data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAA"
    "AElFTkSuQmCC",
)
OPTIONS = StreamOptions(session_id="SESSION", transport="sse")

every_wire = pytest.mark.parametrize("api", WIRES)


def conversation(api: str) -> tuple[Message, ...]:
    """Two turns with pictures from the user and from a tool."""
    called = AssistantMessage(
        content=(
            Text(text="calling"),
            ToolCall(id="call_1", name="peek", arguments={"path": "x"}),
        ),
        api=api,
        provider="test",
        model=WIRES[api].model,
        stop_reason="toolUse",
    )
    result = ToolResultMessage(
        tool_call_id="call_1", tool_name="peek", content=(Text(text="RESULT"), BLUE)
    )
    return (
        SYSTEM,
        UserMessage(content=(Text(text="first"), RED)),
        called,
        result,
        UserMessage(content="second"),
    )


async def asked(
    api: str,
    messages: tuple[Message, ...],
    options: StreamOptions = OPTIONS,
    *,
    sees_images: bool = True,
) -> Request:
    """The request that the wire sends for ``messages``."""
    replay = Replay([recording(api, "text")])
    outcome = await exchange(
        api, replay, messages=messages, options=options, sees_images=sees_images
    )
    return outcome.request


@every_wire
async def test_pictures_of_users_and_of_tools_are_sent(api: str) -> None:
    request = await asked(api, conversation(api))

    assert RED.data.encode() in request.body
    assert BLUE.data.encode() in request.body


@every_wire
async def test_a_model_without_image_input_gets_a_note_instead_of_images(api: str) -> None:
    request = await asked(api, conversation(api), sees_images=False)

    assert RED.data.encode() not in request.body
    assert BLUE.data.encode() not in request.body
    assert NO_IMAGES.encode() in request.body


@pytest.mark.behaviour("prompt-prefix-is-stable")
@every_wire
async def test_the_same_conversation_is_sent_as_the_same_bytes(api: str) -> None:
    first = await asked(api, conversation(api))
    second = await asked(api, conversation(api))

    assert first.body == second.body
    assert first.target == second.target


@pytest.mark.behaviour("prompt-prefix-is-stable")
@every_wire
async def test_a_longer_conversation_begins_with_the_shorter_one(api: str) -> None:
    history = conversation(api)

    for length in (2, 4):
        shorter = unmarked((await asked(api, history[:length])).json)
        longer = unmarked((await asked(api, history)).json)
        first, second = turns(shorter), turns(longer)
        assert second[: len(first)] == first
        assert without_turns(shorter) == without_turns(longer)


@every_wire
async def test_no_cache_marks_are_set_if_caching_is_off(api: str) -> None:
    options = StreamOptions(session_id="SESSION", transport="sse", cache_retention="none")

    request = await asked(api, conversation(api), options)

    assert not CACHE_MARKS & set(keys(request.json))


@every_wire
async def test_the_hooks_are_called_with_payload_and_response(api: str) -> None:
    seen: list[object] = []

    async def on_payload(payload: Json, model: Model) -> Json | None:
        seen.append((type(payload), model.api))
        return None

    async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
        seen.append((status, model.api))

    options = StreamOptions(
        session_id="SESSION", transport="sse", on_payload=on_payload, on_response=on_response
    )
    request = await asked(api, conversation(api), options)

    assert seen == [(dict, api), (200, api)]
    assert request.body == (await asked(api, conversation(api))).body


# Bodies ------------------------------------------------------------------------------------------

CACHE_MARKS = {"cache_control", "cachePoint", "prompt_cache_key", "prompt_cache_retention"}
CACHE_POINT = {"cachePoint": {"type": "default"}}
TURNS = ("messages", "input", "contents")


def turns(body: Json) -> list[Any]:
    """The conversation in a request, wherever the wire puts it."""
    holder = body.get("context", body)
    found = [holder[name] for name in TURNS if name in holder]
    assert len(found) == 1
    conversation: list[Any] = found[0]
    return conversation


def without_turns(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in (*TURNS, "context")}


def unmarked(value: Any) -> Any:
    """A body without cache marks, which move with every turn."""
    match value:
        case dict():
            kept = {key: unmarked(inner) for key, inner in value.items() if key not in CACHE_MARKS}
            if isinstance(text := kept.get("content"), str):
                kept["content"] = [{"type": "text", "text": text}]  # the same to every provider
            return kept
        case list():
            return [unmarked(inner) for inner in value if inner != CACHE_POINT]
        case _:
            return value


def keys(value: Any) -> list[str]:
    match value:
        case dict():
            return [*value, *(key for inner in value.values() for key in keys(inner))]
        case list():
            return [key for inner in value for key in keys(inner)]
        case _:
            return []
