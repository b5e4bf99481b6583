"""Encodes a call as the arguments of Google's SDK. Pure.

Payloads are passed to hooks and stored in this form; ``rest.py`` turns them into requests of the
REST API.
"""

from __future__ import annotations

from pi.ai.messages import (
    Json,
)
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.ai.wire.google_generate.compat import compat_of
from pi.ai.wire.google_generate.history import contents
from pi.ai.wire.google_generate.thinking import thinking_config
from pi.ai.wire.google_generate.tools import declarations, tool_config
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs, without_refused_thoughts
from pi.ai.wire_support.tool_schemas import NO_STRICT_TOOLS, refuse_loosening


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the payload: ``model``, ``contents`` and ``config``."""
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
        config["tools"] = [{"functionDeclarations": declarations(instructions.tools, traits)}]
        if (calling := tool_config(call.options.tool_choice, instructions.tools)) is not None:
            config["toolConfig"] = {"functionCallingConfig": calling}
    if (thinking := thinking_config(call, traits)) is not None:
        config["thinkingConfig"] = thinking
    return {
        "model": call.model.id,
        "contents": contents(trusted, call.model, traits, call.kept),
        "config": config,
    }
