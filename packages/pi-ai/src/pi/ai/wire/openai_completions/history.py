"""Encodes the conversation as ``messages``. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pi.ai.json_text import json_text
from pi.ai.kept import Beginning, KeptConversions, as_bytes
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.transcript import render_update
from pi.ai.wire.openai_completions.compat import Compat
from pi.ai.wire.openai_completions.tools import ToolForms, declaration
from pi.ai.wire_support.handoff import (
    IMAGES_FOLLOW,
    MAX_ID_LENGTH,
    NO_OUTPUT,
    MakeId,
    is_own,
    last_answer,
    plain_id,
    prepare,
)
from pi.base.records import UNREADABLE

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields for thinking as text; the signature of a thinking block names its field."""
REASONING_DETAILS = "reasoning_details"
"""OpenRouter's field for thinking with signatures."""
REASONING_OPAQUE = "reasoning_opaque"
"""Copilot's field for the signature of the thinking in ``reasoning_text``."""

SEE_IMAGE = "(see attached image)"
PROCESSED = "I have processed the tool results."


def id_maker(model: Model) -> MakeId:
    """Return the function that makes tool-call ids for ``model``: its own ids stay unchanged,
    others get an alphabet that all servers accept."""

    def make_id(identifier: str, message: AssistantMessage) -> str:
        if is_own(message, model) and len(identifier) <= MAX_ID_LENGTH:
            return identifier
        return plain_id(identifier, message)

    return make_id


class History:
    """Encodes messages with the quirks of one server.

    ``late_tools`` are declared in the conversation, at the place where they were added.
    """

    def __init__(
        self,
        model: Model,
        compat: Compat,
        forms: ToolForms,
        late_tools: Mapping[str, Tool],
        kept: KeptConversions | None = None,
    ) -> None:
        self._model = model
        self._role = "developer" if model.reasoning and compat.supports_developer_role else "system"
        self._compat = compat
        self._forms = forms
        self._late_tools = late_tools
        self._kept = kept

    def encode(self, prompt: str, messages: Sequence[Message]) -> list[Json]:
        """Return the instructions and the conversation."""
        prepared = prepare(messages, self._model, id_maker(self._model), self._kept)
        encoded: list[Json] = []
        start = 0
        if self._kept is not None:
            settings = (self._model, self._compat, self._forms.inputs, self._late_tools)
            beginning = self._kept.beginning("chat", settings, prepared)
            if beginning is None:  # a single request would only pay for what it keeps
                self._kept.keep("chat", Beginning(settings, (), encoded))
            else:
                encoded, start = beginning.converted, beginning.length
                cut = last_answer(prepared, self._model)
                if cut > start and self._is_sent(prepared[cut]):
                    encoded = [*encoded, *map(as_bytes, self._encode(prepared[start:cut]))]
                    start = cut
                    self._kept.keep("chat", Beginning(settings, prepared[: cut + 1], encoded))
        return [*self._system(prompt), *encoded, *self._encode(prepared[start:])]

    def _is_sent(self, message: Message) -> bool:
        # An answer of thinking alone is left out. What follows it depends on what was before.
        return isinstance(message, AssistantMessage) and bool(self._assistant(message))

    def _encode(self, messages: Sequence[Message]) -> list[Json]:
        """Return messages that begin with an answer that is sent, or with the conversation."""
        encoded: list[Json] = []
        images: list[Image] = []
        for message in messages:
            if not isinstance(message, ToolResultMessage):
                # Pictures come after all results of a batch: nothing may stand between those.
                self._show(encoded, images)
            match message:
                case SystemMessage():
                    encoded += self._system(render_update(message))
                    encoded += self._additions(message)
                case UserMessage():
                    self._add_user_message(encoded, _user_content(message))
                case AssistantMessage():
                    encoded += self._assistant(message)
                case ToolResultMessage():
                    encoded.append(self._result(message))
                    images += [block for block in message.content if isinstance(block, Image)]
        self._show(encoded, images)
        return encoded

    def _system(self, text: str) -> list[Json]:
        return [{"role": self._role, "content": text}] if text else []

    def _additions(self, message: SystemMessage) -> list[Json]:
        tools = [
            declaration(tool, self._forms)
            for tool in message.tools_added or ()
            if self._late_tools.get(tool.name) is tool
        ]
        # Kimi, which introduced this, accepts tools only in a message without text.
        return [{"role": "system", "tools": tools}] if tools else []

    def _add_user_message(self, encoded: list[Json], content: str | list[Json]) -> None:
        """Add a user message, after an assistant message if the server requires one there."""
        if not content:
            return
        after_result = bool(encoded) and encoded[-1]["role"] == "tool"
        if after_result and self._compat.requires_assistant_after_tool_result:
            encoded.append({"role": "assistant", "content": PROCESSED})
        encoded.append({"role": "user", "content": content})

    def _show(self, encoded: list[Json], images: list[Image]) -> None:
        if images:
            self._add_user_message(encoded, [_text_part(IMAGES_FOLLOW), *map(_image_part, images)])
            images.clear()

    def _result(self, message: ToolResultMessage) -> Json:
        text = message.text
        if not text.strip():
            pictures = any(isinstance(block, Image) for block in message.content)
            text = SEE_IMAGE if pictures else NO_OUTPUT
        result: Json = {"role": "tool", "content": text, "tool_call_id": message.tool_call_id}
        if self._compat.requires_tool_result_name:
            result["name"] = message.tool_name
        return result

    def _assistant(self, message: AssistantMessage) -> list[Json]:
        calls = [self._call(call) for call in message.tool_calls]
        content = self._assistant_content(message)
        if not content and not calls:
            return []  # servers reject a turn of thinking alone
        nothing = "" if self._compat.requires_non_null_assistant_content else None
        encoded: Json = {"role": "assistant", "content": content or nothing}
        encoded |= self._reasoning(message)
        if calls:
            encoded["tool_calls"] = calls
        return [encoded]

    def _assistant_content(self, message: AssistantMessage) -> str | list[Json]:
        if self._compat.requires_thinking_as_text and _thoughts(message):
            texts = (
                block.thinking if isinstance(block, Thinking) else block.text
                for block in message.content
                if not isinstance(block, ToolCall)
            )
            return [_text_part(text) for text in texts if text.strip()]
        return message.text if message.text.strip() else ""

    def _reasoning(self, message: AssistantMessage) -> Json:
        """Return thinking as received: verbatim, in order, and only once."""
        if self._compat.requires_thinking_as_text:
            return {}
        if details := _details(message):
            return {REASONING_DETAILS: details}
        thoughts = _thoughts(message)
        if opaque := _opaque(message):
            text = "".join(block.thinking for block in thoughts)
            return {**({"reasoning_text": text} if text else {}), REASONING_OPAQUE: opaque}
        if self._compat.requires_reasoning_content_on_assistant_messages:
            return {"reasoning_content": "".join(block.thinking for block in thoughts)}
        named: Json = {}
        for block in thoughts:
            if block.thinking_signature in REASONING_FIELDS:
                field = str(block.thinking_signature)
                named[field] = named.get(field, "") + block.thinking
        return named

    def _call(self, call: ToolCall) -> Json:
        argument = self._forms.inputs.get(call.name)
        if argument is not None and isinstance(text := call.arguments.get(argument), str):
            return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
        function = {"name": call.name, "arguments": json_text(call.arguments)}
        encoded: Json = {"id": call.id, "type": "function", "function": function}
        if (signed := _signed(call)) and "type" not in signed:
            encoded["extra_content"] = signed
        return encoded


def _user_content(message: UserMessage) -> str | list[Json]:
    if isinstance(message.content, str):
        return message.content
    return [
        _image_part(block) if isinstance(block, Image) else _text_part(block.text)
        for block in message.content
        if isinstance(block, Image) or block.text.strip()
    ]


def _text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def _image_part(image: Image) -> Json:
    return {"type": "image_url", "image_url": {"url": image.data_url}}


def _thoughts(message: AssistantMessage) -> list[Thinking]:
    return [
        block for block in message.content if isinstance(block, Thinking) and block.thinking.strip()
    ]


def _details(message: AssistantMessage) -> list[Json]:
    """Return the ``reasoning_details`` of a response, from its thinking and its calls."""
    details: list[Json] = []
    for block in message.content:
        match block:
            case Thinking(thinking_signature=str(signature)) if signature.startswith("["):
                parsed = _json(signature)
                details += parsed if isinstance(parsed, list) else []
            case Thinking(thinking_signature="reasoning_details"):
                details.append({"type": "reasoning.text", "text": block.thinking})
            case ToolCall() if "type" in (signed := _signed(block)):
                details.append(signed)
    return details


def _opaque(message: AssistantMessage) -> str:
    """Return the ``reasoning_opaque`` of a response."""
    for block in message.content:
        match block:
            case Thinking(thinking_signature=str(signature)) if signature.startswith("{"):
                parsed = _json(signature)
                if isinstance(parsed, dict) and isinstance(parsed.get(REASONING_OPAQUE), str):
                    return str(parsed[REASONING_OPAQUE])
    return ""


def _signed(call: ToolCall) -> Json:
    """Return the object that the server attached to a call: a reasoning detail, or extra
    content."""
    signature = call.thought_signature
    parsed = _json(signature) if isinstance(signature, str) else None
    return parsed if isinstance(parsed, dict) else {}


def _json(text: str) -> object:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except UNREADABLE:
        return None
