"""How every wire encodes the common options, in one table each."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json, Message, SystemMessage, Tool, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions, ToolChoice
from pi.base.records import replace
from tests.ai.wire.conformance import PEEK, SYSTEM, WIRES, call_of, model_of, recording
from tests.ai.wire.exchanges import exchange, stream_of
from tests.ai.wire.replay_server import Replay

HI = UserMessage(content="hi")
GONE: Any = object()
"""Nothing is sent."""


async def sent(api: str, options: StreamOptions, *messages: Message) -> Json:
    """The body that ``api`` sends."""
    asked = await exchange(
        api, Replay([recording(api, "text")]), messages=messages, options=options
    )
    body: Json = asked.request.json
    return body


def at(body: Json, path: str) -> Any:
    """The value in ``body`` at ``path``, or ``GONE``."""

    def step(value: Any, name: str) -> Any:
        return value.get(name, GONE) if isinstance(value, dict) else GONE

    return reduce(step, path.split("."), body)


# Which tools may be called -----------------------------------------------------------------------

ANY: Json = {"type": "any"}
PEEK_IT: Json = {"type": "tool", "name": "peek"}
ABSENT: Json = {"type": "tool", "name": "absent"}
UNKNOWN: Json = {"type": "sometimes"}

CHAT = {"type": "function", "function": {"name": "peek"}}
OPENAI_CHAT = ("tool_choice", (GONE, "auto", "none", "required", CHAT))
RESPONSES = (
    "tool_choice",
    (GONE, "auto", "none", "required", {"type": "function", "name": "peek"}),
)
GOOGLE = (
    "toolConfig.functionCallingConfig",
    (
        GONE,
        {"mode": "AUTO"},
        {"mode": "NONE"},
        {"mode": "ANY"},
        {"mode": "ANY", "allowedFunctionNames": ["peek"]},
    ),
)
CHOICES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "anthropic-messages": (
        "tool_choice",
        (GONE, {"type": "auto"}, {"type": "none"}, ANY, PEEK_IT),
    ),
    "azure-openai-responses": RESPONSES,
    "bedrock-converse-stream": (
        "toolConfig.toolChoice",
        (GONE, {"auto": {}}, GONE, {"any": {}}, {"tool": {"name": "peek"}}),
    ),
    "google-generative-ai": GOOGLE,
    "google-vertex": GOOGLE,
    "mistral-conversations": ("tool_choice", (GONE, "auto", "none", "any", CHAT)),
    "openai-codex-responses": ("tool_choice", ("auto", *RESPONSES[1][1:])),
    "openai-completions": OPENAI_CHAT,
    "openai-responses": RESPONSES,
    "pi-messages": ("options.toolChoice", (GONE, "auto", "none", ANY, PEEK_IT)),
}
"""The path of the choice, and its values for unset, ``auto``, ``none``, any tool and one tool."""

FORMS: tuple[ToolChoice | None, ...] = (None, "auto", "none", ANY, PEEK_IT)

every_wire = pytest.mark.parametrize("api", WIRES)
every_vendor = pytest.mark.parametrize("api", sorted(WIRES.keys() - {"pi-messages"}))
"""All wires to models; not those to a server that decides about tools itself."""


@every_wire
async def test_every_form_of_tool_choice_is_encoded_in_the_format_of_the_wire(api: str) -> None:
    path, words = CHOICES[api]

    bodies = [await sent(api, _choosing(form), SYSTEM, HI) for form in FORMS]

    assert [at(body, path) for body in bodies] == list(words)


@pytest.mark.behaviour("no-tools-no-tool-fields")
@every_vendor
@pytest.mark.parametrize("choice", [ABSENT, UNKNOWN], ids=["absent", "unknown"])
async def test_an_impossible_tool_choice_is_dropped(api: str, choice: Json) -> None:
    path, (unsaid, *_) = CHOICES[api]

    body = await sent(api, _choosing(choice), SYSTEM, HI)

    assert at(body, path) == unsaid


@pytest.mark.behaviour("no-tools-no-tool-fields")
@every_vendor
@pytest.mark.parametrize("choice", ["auto", "none", ANY, PEEK_IT], ids=str)
async def test_a_request_without_tools_has_no_tool_choice(api: str, choice: ToolChoice) -> None:
    body = await sent(api, _choosing(choice), SystemMessage(content="SYS"), HI)

    assert at(body, CHOICES[api][0]) is GONE
    assert not {"tools", "toolConfig", "tool_choice"} & body.keys()


def _choosing(choice: ToolChoice | None) -> StreamOptions:
    return StreamOptions(tool_choice=choice, transport="sse")


# Strict tools ------------------------------------------------------------------------------------

STRICT_FLAGS = {
    "anthropic-messages": "supportsStrictTools",
    "azure-openai-responses": "supportsStrictMode",
    "bedrock-converse-stream": "supportsStrictMode",
    "openai-codex-responses": "supportsStrictMode",
    "openai-completions": "supportsStrictMode",
    "openai-responses": "supportsStrictMode",
}
"""The flag for strict tools, on wires that support them."""


def with_strictness(strictness: str) -> Tool:
    """A tool with this setting for strict arguments."""
    properties = {"path": {"type": "string"}}
    return replace(
        PEEK,
        parameters={"type": "object", "properties": properties, "required": ["path"]},
        constrained_sampling={"type": "json_schema", "strict": strictness},
    )


async def payloads(model: Model, *tools: Tool) -> tuple[list[Json], BadRequest | None]:
    """Return the payloads for ``model`` and the error if none is sent; no server is listening."""
    seen: list[Json] = []

    async def on_payload(payload: Json, _: Model) -> None:
        seen.append(payload)

    options = StreamOptions(transport="sse", on_payload=on_payload)
    messages = (SystemMessage(content="SYS", tools_added=tools), HI)
    async with HttpClient(environ={}) as client:
        stream = stream_of(call_of(model, messages, options), client)
        message = await stream.result()
    assert message.stop_reason == "error"
    return seen, stream.failure if isinstance(stream.failure, BadRequest) else None


def unreachable(api: str, *, strict: bool) -> Model:
    """A model with or without support for strict tools."""
    model = model_of(api, "http://127.0.0.1:1")
    return replace(model, compat={STRICT_FLAGS[api]: True}) if strict else model


@every_vendor
async def test_required_strict_arguments_without_model_support_raise_before_sending(
    api: str,
) -> None:
    seen, problem = await payloads(unreachable(api, strict=False), with_strictness("require"))

    assert seen == []
    assert problem is not None
    assert problem.message == (
        "The tool peek requires strict arguments, but this model takes no strict tools."
    )


@pytest.mark.parametrize("api", STRICT_FLAGS)
async def test_required_strict_arguments_beside_a_loose_tool_raise_before_sending(
    api: str,
) -> None:
    other = replace(PEEK, name="other")

    seen, problem = await payloads(unreachable(api, strict=True), with_strictness("require"), other)

    assert seen == []
    assert problem is not None
    assert problem.message == (
        "The tool peek requires strict arguments, but the tool other beside it is not strict."
    )


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@pytest.mark.parametrize("strictness", ["prefer", "require"])
@pytest.mark.parametrize("api", STRICT_FLAGS)
async def test_supported_strict_arguments_are_sent(api: str, strictness: str) -> None:
    (payload,), problem = await payloads(unreachable(api, strict=True), with_strictness(strictness))

    assert problem is None
    assert "'strict': True" in str(payload)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@every_vendor
async def test_preferred_strict_arguments_without_model_support_are_left_out(api: str) -> None:
    (payload,), problem = await payloads(unreachable(api, strict=False), with_strictness("prefer"))

    assert problem is None
    assert "'strict': True" not in str(payload)


# Metadata ----------------------------------------------------------------------------------------

METADATA: Json = {"user_id": "u-1", "team": "red", "deep": {"a": 1}}
USER = ("user", "u-1")
UPDATES: dict[str, tuple[str, Any]] = {
    "anthropic-messages": ("metadata", {"user_id": "u-1"}),
    "azure-openai-responses": USER,
    "bedrock-converse-stream": ("requestMetadata", {"user_id": "u-1", "team": "red"}),
    "google-generative-ai": ("metadata", GONE),
    "google-vertex": ("metadata", GONE),
    "mistral-conversations": ("metadata", METADATA),
    "openai-codex-responses": ("metadata", GONE),
    "openai-completions": USER,
    "openai-responses": USER,
    "pi-messages": ("options.metadata", METADATA),
}
"""The path and the value of the metadata that each API is documented to accept."""


@every_wire
async def test_the_metadata_is_sent_only_in_the_field_of_the_api(api: str) -> None:
    path, update = UPDATES[api]

    body = await sent(api, StreamOptions(metadata=METADATA, transport="sse"), SYSTEM, HI)
    plain = await sent(api, StreamOptions(transport="sse"), SYSTEM, HI)

    assert at(body, path) == update
    assert at(plain, path) is GONE
    assert _without(body, path) == _without(plain, path)


def _without(body: Json, path: str) -> Json:
    """``body`` without the top-level field of ``path``."""
    return {name: value for name, value in body.items() if name != path.split(".")[0]}


# Instructions that change ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "api",
    [
        "anthropic-messages",
        "azure-openai-responses",
        "mistral-conversations",
        "openai-codex-responses",
        "openai-completions",
        "openai-responses",
    ],
)
async def test_a_removed_section_is_described_with_the_same_text_on_every_wire(
    api: str,
) -> None:
    change = SystemMessage(content="", sections={"old": None})
    model = replace(
        model_of(api, "http://127.0.0.1:1"), compat={"supportsMidConvoSystemMessages": True}
    )
    seen: list[str] = []

    async def on_payload(payload: Json, _: Model) -> None:
        seen.append(str(payload))

    options = StreamOptions(transport="sse", on_payload=on_payload)
    async with HttpClient(environ={}) as client:
        await stream_of(call_of(model, (SYSTEM, HI, change, HI), options), client).result()

    assert [text.count('The earlier section "old" no longer applies.') for text in seen] == [1]
