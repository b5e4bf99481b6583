"""A body with kept conversions is byte for byte that of a full conversion, on every wire."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pi.ai.json_text import json_bytes
from pi.ai.kept import MAX_SESSIONS, KeptConversions, KeptSessions
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    RemovedTool,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Call, StreamOptions
from pi.ai.wire.anthropic_messages.request import encode as encode_anthropic
from pi.ai.wire.bedrock_converse.request import encode as encode_bedrock
from pi.ai.wire.google_generate.request import encode as encode_google
from pi.ai.wire.google_generate.rest import rest_body as google_body
from pi.ai.wire.mistral_conversations.request import encode as encode_mistral
from pi.ai.wire.mistral_conversations.request import rest_body as mistral_body
from pi.ai.wire.openai_completions.request import encode as encode_completions
from pi.ai.wire.openai_responses.azure import encode as encode_azure
from pi.ai.wire.openai_responses.codex import encode as encode_codex
from pi.ai.wire.openai_responses.request import encode as encode_responses
from pi.ai.wire.pi_messages.request import encode as encode_proxy
from pi.ai.wire_support.handoff import prepare, same_id, unique_id
from pi.ai.wire_support.repairs import Repairs
from pi.base.records import replace
from tests.ai.wire.fixed_conversation import GOLDEN, KEY, PNG
from tests.sampling import sampled

REQUESTS = 14

Encode = Callable[[Call, Repairs], Json]

WIRES: dict[str, Encode] = {
    "anthropic-messages": encode_anthropic,
    "azure-openai-responses": lambda call, repairs: encode_azure(call, {}, repairs),
    "bedrock-converse-stream": encode_bedrock,
    "google-generative-ai": lambda call, repairs: google_body(encode_google(call, repairs)),
    "google-vertex": lambda call, repairs: google_body(encode_google(call, repairs)),
    "mistral-conversations": lambda call, _: mistral_body(encode_mistral(call)),
    "openai-codex-responses": encode_codex,
    "openai-completions": encode_completions,
    "openai-responses": encode_responses,
    "pi-messages": lambda call, _: encode_proxy(call),
}


def _models() -> dict[str, list[Model]]:
    models: dict[str, list[Model]] = {}
    for line in GOLDEN.read_bytes().splitlines():
        row = msgspec.json.decode(line)
        names = {"id": row["model"], "name": row["model"], "api": row["api"]}
        rest = {"provider": row["provider"], "baseUrl": "https://server.example/v1"}
        model = msgspec.convert({**row["modelMeta"], **names, **rest}, Model)
        models.setdefault(row["api"], []).append(model)
    proxied = [replace(model, api="pi-messages") for model in models["openai-completions"][:3]]
    return {**models, "pi-messages": proxied}


MODELS = _models()
APIS = sorted(WIRES)
SIGNATURES = (
    "c2ln",
    "reasoning_content",
    '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}',
    '[{"type":"reasoning.text","text":"t"}]',
    '{"reasoning_opaque":"o"}',
)


class Conversation:
    """A conversation that grows and changes at random."""

    def __init__(self, seed: int, models: list[Model]) -> None:
        self.chance = random.Random(seed)
        self.models = models
        self.model = self.chance.choice(models)
        self.level: Any = "off"
        self.messages: list[Message] = [
            SystemMessage(content="prompt", tools_added=(self._tool("peek"),))
        ]
        self._waiting: list[ToolCall] = []

    def step(self) -> None:
        """Go on, or change something."""
        actions = [self._ask, self._answer, self._result, self._result, self._answer]
        rare = [self._switch, self._think, self._edit, self._drop, self._compact, self._instruct]
        self.chance.choice(actions * 4 + rare)()

    def _text(self) -> str:
        return self.chance.choice(("", " ", "words", "\ud800", "<b>ü</b>", "x" * 50))

    def _image(self) -> Image:
        kind = self.chance.choice(("image/png", "image/tiff"))
        return Image(data=self.chance.choice((PNG, "?")), mime_type=kind)

    def _parts(self) -> tuple[Text | Image, ...]:
        count = self.chance.randrange(3)
        return tuple(
            self._image() if self.chance.random() < 0.3 else Text(text=self._text())
            for _ in range(count)
        )

    def _tool(self, name: str) -> Tool:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        return Tool(name=name, description=self.chance.choice(("a", "b")), parameters=schema)

    def _ask(self) -> None:
        plain = self.chance.random() < 0.5
        self.messages.append(UserMessage(content=self._text() if plain else self._parts()))

    def _answer(self) -> None:
        chance = self.chance
        own = chance.random() < 0.7
        author = self.model if own else chance.choice(chance.choice(list(MODELS.values())))
        blocks: list[Text | Thinking | ToolCall] = []
        for _ in range(chance.randrange(4)):
            kind = chance.randrange(3)
            signature = chance.choice((*SIGNATURES, msgspec.UNSET))
            if kind == 0:
                blocks.append(Text(text=self._text(), text_signature=signature))
            elif kind == 1:
                redacted = chance.choice((True, msgspec.UNSET))
                thought = Thinking(
                    thinking=self._text(), thinking_signature=signature, redacted=redacted
                )
                blocks.append(thought)
            else:
                call = ToolCall(
                    id=chance.choice(("call_1", "call_1", f"c{len(self.messages)}|fc_1", "ö" * 70)),
                    name=chance.choice(("peek", "other", "")),
                    arguments={"path": self._text()},
                    thought_signature=signature,
                )
                blocks.append(call)
                self._waiting.append(call)
        note = chance.choice(("thinking_signature_rejected", "strict_schema_rejected"))
        is_noted = chance.random() < 0.05
        self.messages.append(
            AssistantMessage(
                content=tuple(blocks),
                provider=author.provider,
                api=author.api,
                model=author.id,
                provider_thinking_level=chance.choice((msgspec.UNSET, "low", "high")),
                diagnostics=({"type": note},) if is_noted else msgspec.UNSET,
                stop_reason=chance.choice(("stop", "stop", "stop", "error", "aborted")),
            )
        )

    def _result(self) -> None:
        if not self._waiting:
            return
        call = self._waiting.pop(self.chance.randrange(len(self._waiting)))
        self.messages.append(
            ToolResultMessage(
                tool_call_id=call.id,
                tool_name=call.name,
                content=self._parts(),
                is_error=self.chance.random() < 0.2,
            )
        )

    def _switch(self) -> None:
        self.model = self.chance.choice(self.models)

    def _think(self) -> None:
        self.level = self.chance.choice(("off", "low", "high"))

    def _edit(self) -> None:
        index = self.chance.randrange(len(self.messages))
        message = self.messages[index]
        match message:
            case UserMessage():
                self.messages[index] = replace(message, content="edited")
            case AssistantMessage(content=content):
                self.messages[index] = replace(message, content=content[:1])
            case ToolResultMessage():
                self.messages[index] = replace(message, content=(Text(text="[edited]"),))

    def _drop(self) -> None:
        if len(self.messages) > 1:
            del self.messages[self.chance.randrange(1, len(self.messages))]

    def _compact(self) -> None:
        kept = self.chance.randrange(1, len(self.messages) + 1)
        self.messages[1:kept] = [UserMessage(content="a summary")]

    def _instruct(self) -> None:
        name = self.chance.choice(("peek", "other"))
        is_removed = self.chance.random() < 0.5
        self.messages.append(
            SystemMessage(
                content=self._text().replace("\ud800", ""),
                sections={"mode": self.chance.choice(("plan", None))},
                tools_added=msgspec.UNSET if is_removed else (self._tool(name),),
                tools_removed=(RemovedTool(name=name),) if is_removed else msgspec.UNSET,
            )
        )


def make_call(conversation: Conversation, kept: KeptConversions | None = None) -> Call:
    options = StreamOptions(
        session_id="SESS",
        reasoning=conversation.level,
        cache_retention=("none", "short", "long")[len(conversation.messages) % 3],
    )
    messages = tuple(conversation.messages)
    return Call(model=conversation.model, messages=messages, options=options, access=KEY, kept=kept)


def encoded(encode: Encode, call: Call, repairs: Repairs) -> tuple[bytes, Any]:
    try:
        payload = encode(call, repairs)
    except Exception as error:  # a conversation that the wire refuses is refused either way
        return repr(error).encode(), None
    return json_bytes(payload), payload


SEEDS = dict.fromkeys((214, 298, 512, 953, 1058, *range(2000)))
"""First those in which an answer was removed whose results had been settled."""


@pytest.mark.parametrize("seed", sampled(SEEDS, 60))
def test_a_body_with_kept_conversions_is_that_of_a_full_conversion(seed: int) -> None:
    api = APIS[seed % len(APIS)]
    encode = WIRES[api]
    conversation = Conversation(seed, MODELS[api])
    kept = KeptConversions()
    sent: list[tuple[bytes, Any]] = []
    for _ in range(REQUESTS):
        for _ in range(conversation.chance.randrange(1, 5)):
            conversation.step()
        repairs = Repairs(
            thinking=conversation.chance.random() < 0.1, strict=conversation.chance.random() < 0.1
        )
        full, _ = encoded(encode, make_call(conversation), repairs)
        body, payload = encoded(encode, make_call(conversation, kept), repairs)
        assert body == full
        sent.append((body, payload))
    for body, payload in sent:  # later requests have not changed what earlier ones sent
        assert payload is None or json_bytes(payload) == body


@pytest.mark.parametrize("api", APIS)
def test_a_message_is_converted_once(api: str) -> None:
    model = MODELS[api][0]
    answer = AssistantMessage(
        content=(ToolCall(id="a|b", name="peek", arguments={}),), provider="other", model="other"
    )
    result = ToolResultMessage(tool_call_id="a|b", tool_name="peek", content=(Text(text="x"),))
    end = AssistantMessage(content=(Text(text="done"),))
    messages = (UserMessage(content="hello"), answer, result, end)
    kept = KeptConversions()

    first = prepare(messages, model, lambda id, _: f"new_{len(id)}", kept)
    second = prepare(
        (*messages, UserMessage(content="more")), model, lambda id, _: f"new_{len(id)}", kept
    )

    assert [a is b for a, b in zip(first[:3], second, strict=False)] == [True] * 3


def test_a_kept_beginning_does_not_end_before_an_answer_that_is_not_sent() -> None:
    compat = {"requiresAssistantAfterToolResult": True}
    model = replace(MODELS["openai-completions"][0], compat=compat)
    author: dict[str, Any] = {"api": model.api, "provider": model.provider, "model": model.id}
    talk: list[Message] = [
        UserMessage(content="look"),
        AssistantMessage(content=(ToolCall(id="c", name="peek", arguments={}),), **author),
        ToolResultMessage(tool_call_id="c", tool_name="peek", content=(Text(text="seen"),)),
        AssistantMessage(content=(Thinking(thinking="hm"),), **author),
        UserMessage(content="go on"),
        AssistantMessage(content=(Text(text="done"),), **author),
        UserMessage(content="thanks"),
    ]
    kept = KeptConversions()

    for end in (1, 3, 5, 5, 7, 7):
        call = Call(model=model, messages=tuple(talk[:end]))
        body = json_bytes(encode_completions(replace(call, kept=kept)))
        assert body == json_bytes(encode_completions(call))


def test_messages_that_need_no_change_stay_the_same_objects() -> None:
    (model, *_) = MODELS["openai-completions"]
    call = ToolCall(id="a", name="peek", arguments={})
    messages = (
        UserMessage(content="hello"),
        AssistantMessage(content=(call,), provider=model.provider, api=model.api, model=model.id),
        ToolResultMessage(tool_call_id="a", tool_name="peek", content=(Text(text="x"),)),
    )

    prepared = prepare(messages, model, same_id)

    assert [a is b for a, b in zip(messages, prepared, strict=True)] == [True] * 3


def test_one_id_for_all_calls_is_numbered_as_before() -> None:
    used: set[str] = set()
    counted: set[str] = set()
    counts: dict[str, int] = {}
    ids = ["call_1", "call_1", "call_1_2", "call_1", "x" * 64, "x" * 64, "", "call"] * 5

    assert [unique_id(id, used) for id in ids] == [unique_id(id, counted, counts) for id in ids]


def test_the_conversions_of_sessions_used_long_ago_are_forgotten() -> None:
    sessions = KeptSessions()
    first = sessions.of("0", "api")

    for number in range(1, MAX_SESSIONS):
        sessions.of(str(number), "api")
    assert sessions.of("0", "api") is first
    for number in range(MAX_SESSIONS):
        sessions.of(f"new {number}", "api")

    assert sessions.of("0", "api") is not first
