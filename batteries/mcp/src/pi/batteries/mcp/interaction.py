"""Requests of servers: roots, sampling by a model, elicitation. The user has to agree first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pi.batteries.mcp import content
from pi.batteries.mcp.forms import Form
from pi.batteries.mcp.protocol import INVALID_PARAMS, URL_ELICITATION_REQUIRED, RpcError
from pi.extension import (
    AssistantMessage,
    ExtensionAPI,
    ExtensionUI,
    Image,
    Json,
    Message,
    Model,
    Option,
    StreamOptions,
    Text,
    UserMessage,
    neutralise,
    one_line,
    replace,
)

REJECTED = -1
"""The error code of the protocol for a request that the user rejected."""
UNSUPPORTED = -32601
MAX_SHOWN = 2000
MAX_TOKENS = 8192
_ADDRESS = re.compile(r"https?://[!-\[\]-~]+")
"""Without blanks, backslashes and other characters that browsers understand differently: the user
must see the host that is opened."""
ONCE, SESSION, DENY = "Allow once", "Allow for this session", "Deny"
ANSWER, DECLINE = "Answer", "Decline"


class Interaction:
    """Answers the requests of servers for one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._may_sample: set[str] = set()
        """Servers that may use the model in this session without a question."""

    async def answer(self, server: str, method: str, params: Json) -> Json:
        """The result of a request. Raises ``RpcError``."""
        match method:
            case "ping":
                return {}
            case "roots/list":
                return {"roots": roots(self._pi.context.cwd)}
            case "sampling/createMessage":
                return await self._sample(server, params)
            case "elicitation/create":
                return await self._elicit(server, params)
            case _:
                raise RpcError(f"{method} is not supported.", code=UNSUPPORTED)

    # Sampling -------------------------------------------------------------------------------------

    async def _sample(self, server: str, params: Json) -> Json:
        messages = sampling_messages(params, self._pi.scope.clock.now_ms())
        model = self._model(params)
        if model is None:
            raise RpcError("No model is selected.", code=INVALID_PARAMS)
        if server not in self._may_sample:
            await self._confirm_sampling(server, params, model)
        limit = params.get("maxTokens")
        most = min(limit, MAX_TOKENS) if isinstance(limit, int) and limit > 0 else MAX_TOKENS
        temperature = params.get("temperature")
        answer = await self._pi.models.complete(
            messages,
            model=model,
            system=neutralise(str(params.get("systemPrompt") or "")),
            options=StreamOptions(
                max_tokens=most,
                temperature=float(temperature) if isinstance(temperature, int | float) else None,
            ),
        )
        if answer.stop_reason in ("error", "aborted"):
            raise RpcError(f"The model failed: {answer.error_message}", code=REJECTED)
        return {
            "role": "assistant",
            "content": {"type": "text", "text": answer.text},
            "model": model.id,
            "stopReason": "maxTokens" if answer.stop_reason == "length" else "endTurn",
        }

    def _model(self, params: Json) -> Model | None:
        """The current model, or the first one that the server names and that has credentials."""
        preferences = params.get("modelPreferences")
        hints = preferences.get("hints") if isinstance(preferences, dict) else None
        available = {model.id: model for model in self._pi.models.available()}
        for hint in hints if isinstance(hints, list) else ():
            name = hint.get("name") if isinstance(hint, dict) else None
            if isinstance(name, str) and name in available:
                return available[name]
        return self._pi.context.model

    async def _confirm_sampling(self, server: str, params: Json, model: Model) -> None:
        ui = self._pi.context.ui
        if not ui.has_ui:
            raise RpcError("No user can allow the use of the model.", code=REJECTED)
        messages = "\n".join(_message_text(message) for message in params.get("messages") or [])
        system = params.get("systemPrompt")
        lines = [f"MCP server {server} wants to ask {model.id}:"]
        if system:
            lines.append(f"System: {_clip(str(system))}")
        title = "\n".join((*lines, _clip(messages)))
        choice = await ui.select(title, [Option(label=label) for label in (ONCE, SESSION, DENY)])
        if choice == SESSION:
            self._may_sample.add(server)
        elif choice != ONCE:
            raise RpcError("The user rejected the request.", code=REJECTED)

    # Elicitation ----------------------------------------------------------------------------------

    async def _elicit(self, server: str, params: Json) -> Json:
        ui = self._pi.context.ui
        if not ui.has_ui:
            return {"action": "cancel"}
        if params.get("mode") == "url" or ("url" in params and "requestedSchema" not in params):
            return await self._elicit_page(server, params, ui)
        message = _clip(str(params.get("message") or ""))
        title = f"MCP server {server} asks:\n{message}"
        schema = params.get("requestedSchema")
        if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
            raise RpcError("The requested schema has no properties.", code=INVALID_PARAMS)
        # Only a terminal asks again: a client that cancels or answers wrongly would do so for ever.
        is_terminal = self._pi.context.mode == "tui"
        while (choice := await ui.select(title, [ANSWER, DECLINE])) == ANSWER:
            content = await Form(ui, schema, is_terminal=is_terminal).fill()
            if content is not None:
                return {"action": "accept", "content": content}
            if not is_terminal:
                break
        return {"action": "decline" if choice == DECLINE else "cancel"}

    async def _elicit_page(self, server: str, params: Json, ui: ExtensionUI) -> Json:
        url = str(params.get("url") or "")
        parts = urlsplit(url)
        if not _ADDRESS.fullmatch(url) or not parts.hostname:
            raise RpcError("The address is not an http address.", code=INVALID_PARAMS)
        message = _clip(str(params.get("message") or ""))
        title = f"MCP server {server} asks you to open a page on {parts.hostname}:\n{message}"
        choice = await ui.select(f"{title}\n{one_line(url)}", ["Open the page", DECLINE])
        if choice != "Open the page":
            return {"action": "decline" if choice == DECLINE else "cancel"}
        ui.open_url(url)
        return {"action": "accept"}


def required_pages(error: RpcError) -> list[Json]:
    """The pages that the user has to open before a call works; empty for other errors."""
    if error.code != URL_ELICITATION_REQUIRED or not isinstance(error.data, dict):
        return []
    pages = error.data.get("elicitations")
    return [page for page in pages if isinstance(page, dict)] if isinstance(pages, list) else []


def roots(cwd: Path) -> list[Json]:
    """The roots of a session: its working directory."""
    return [{"uri": cwd.as_uri(), "name": cwd.name or str(cwd)}]


def sampling_messages(params: Json, now_ms: int) -> list[Message]:
    """The messages of a sampling request. Raises ``RpcError`` if there are none."""
    messages: list[Message] = []
    raw_messages = params.get("messages")
    for message in raw_messages if isinstance(raw_messages, list) else ():
        if not isinstance(message, dict):
            continue
        raw = message.get("content")
        blocks = [
            block if isinstance(block, Image) else replace(block, text=neutralise(block.text))
            for part in (raw if isinstance(raw, list) else [raw])
            for block in content.content_blocks(part)
        ]
        if message.get("role") == "assistant":
            texts = tuple(block for block in blocks if isinstance(block, Text))
            messages.append(AssistantMessage(content=texts, timestamp=now_ms))
        else:
            messages.append(UserMessage(content=tuple(blocks), timestamp=now_ms))
    if not messages:
        raise RpcError("The request has no messages.", code=INVALID_PARAMS)
    return messages


def _message_text(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    blocks = content.content_blocks(message.get("content"))
    texts = ("[picture]" if isinstance(block, Image) else block.text for block in blocks)
    return f"{message.get('role', 'user')}: {' '.join(texts)}"


def _clip(text: str) -> str:
    text = neutralise(text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text):,} characters)"
