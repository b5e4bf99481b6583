"""Encodes a call as Google's request, for the Gemini API and for Vertex AI. Pure.

``encode`` returns the arguments of Google's SDK, the form in which payloads are passed to hooks and
stored; ``rest_body`` turns them into the body of the REST API.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from pi.ai.errors import BadRequest
from pi.ai.http.request import user_agent
from pi.ai.messages import Json, Tool
from pi.ai.request import Call, ToolChoice, valid_tool_choice
from pi.ai.transcript import fold
from pi.ai.wire.google_generate import vertex
from pi.ai.wire.google_generate.compat import Compat, compat_of, thinking_config
from pi.ai.wire.google_generate.history import UNSIGNED, contents
from pi.ai.wire.google_generate.schema import json_schema, openapi_schema
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs, without_refused_thoughts
from pi.ai.wire_support.tool_schemas import NO_STRICT_TOOLS, refuse_loosening

VERTEX = "google-vertex"

_BESIDE_GENERATION = ("tools", "toolConfig", "safetySettings", "cachedContent", "labels")
"""Settings at the top of a REST body; all others belong to the generation config."""


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Returns the payload: ``model``, ``contents`` and ``config``."""
    traits = compat_of(call.model)
    instructions, rest = fold(call.messages, keep_later=False)
    trusted = without_refused_thoughts(rest, call.model, repairs)
    config: Json = {"maxOutputTokens": call.max_tokens}
    if call.options.temperature is not None:
        config["temperature"] = call.options.temperature
    if instructions.prompt:
        config["systemInstruction"] = instructions.prompt
    if instructions.tools:
        refuse_loosening(instructions.tools, NO_STRICT_TOOLS)
        config["tools"] = [{"functionDeclarations": _declarations(instructions.tools, traits)}]
        if (calling := _calling(call.options.tool_choice, instructions.tools)) is not None:
            config["toolConfig"] = {"functionCallingConfig": calling}
    if (thinking := thinking_config(call, traits)) is not None:
        config["thinkingConfig"] = thinking
    return {
        "model": call.model.id,
        "contents": contents(trusted, call.model, traits),
        "config": config,
    }


def rest_body(payload: Json) -> Json:
    """Returns the REST body for ``payload``; the model is part of the URL."""
    generation = dict(payload.get("config") or {})
    body: Json = {"contents": payload.get("contents", [])}
    if (instruction := generation.pop("systemInstruction", None)) is not None:
        if isinstance(instruction, str):
            instruction = {"role": "user", "parts": [{"text": instruction}]}
        body["systemInstruction"] = instruction
    for name in _BESIDE_GENERATION:
        if name in generation:
            body[name] = generation.pop(name)
    if generation:
        body["generationConfig"] = generation
    return body


def url(call: Call) -> str:
    """Returns the URL of the stream."""
    models = vertex.models_url(call) if call.model.api == VERTEX else f"{call.base_url}/models"
    name = quote(call.model.id.removeprefix("models/"), safe="/@:")
    return f"{models}/{name}:streamGenerateContent?alt=sse"


def headers(call: Call) -> dict[str, str]:
    """Returns content type, user agent, and the credential: an API key, or a token of a login."""
    fixed = {"Content-Type": "application/json", "User-Agent": user_agent()}
    credential = call.access.api_key
    if not credential:
        return fixed
    if vertex.is_token(call.access):
        return {**fixed, "Authorization": f"Bearer {credential}"}
    return {**fixed, "x-goog-api-key": credential}


def _declarations(tools: Sequence[Tool], traits: Compat) -> list[Json]:
    return [
        {"name": tool.name, "description": tool.description, **_parameters(tool, traits)}
        for tool in tools
    ]


def _parameters(tool: Tool, traits: Compat) -> Json:
    if traits.json_schema:
        return {"parametersJsonSchema": json_schema(tool.parameters)}
    parameters = openapi_schema(tool.parameters)
    return {"parameters": parameters} if parameters.get("properties") else {}


def _calling(choice: ToolChoice | None, tools: Sequence[Tool]) -> Json | None:
    match valid_tool_choice(choice, [tool.name for tool in tools]):
        case str(word):
            return {"mode": word.upper()}
        case {"type": "any"}:
            return {"mode": "ANY"}
        case {"name": name}:
            return {"mode": "ANY", "allowedFunctionNames": [name]}
        case _:
            return None


# Repairs of rejected requests.


_SIGNATURE = r"(?i)(?:corrupted|invalid) thought.?signature|signature is not valid"


def next_repair(refusal: BadRequest, payload: Json) -> Repairs | None:
    """Returns the repair for ``refusal``, if its cause is in ``payload``."""
    if re.search(_SIGNATURE, refusal.message) and _has_signatures(payload):
        return Repairs(thinking=True)
    return None


def _has_signatures(payload: Json) -> bool:
    return any(
        part.get("thoughtSignature", UNSIGNED) != UNSIGNED
        for content in payload.get("contents", ())
        for part in content.get("parts", ())
    )
