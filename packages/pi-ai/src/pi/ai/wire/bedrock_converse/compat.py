"""What the models accept: strict tools, caching, thinking, temperature. Pure.

Converse has one format for all models, but thinking, its replay and caching differ by vendor. The
capabilities of a model come from its name and compat flags. The id of an inference profile may be
an ARN that names no model; then the model's own name is used.
"""

from __future__ import annotations

import re
from typing import Literal

from pi.ai.models.model import Model
from pi.ai.request import read_flags
from pi.base.records import Record

_CLAUDE = r"claude(?:-[a-z]+)*?-(\d{1,2})(?:-(\d{1,2}))?(?!\d)"

_NEWEST = (99, 0)


class Compat(Record):
    """The flags of this wire."""

    supports_strict_mode: bool = False


class ModelCompat(Record):
    """Capabilities of one model, which change its requests."""

    strict_tools: bool = False
    cache: Literal["none", "short", "long"] = "none"
    """The longest lifetime of a cache point."""
    thinking: Literal["none", "effort", "budget", "nova", "openai", "gpt-oss"] = "none"
    """The vendor's format of thinking settings."""
    interleaved: bool = False
    """Thinking between tool calls must be requested."""
    thoughts: Literal["signed", "any", "never"] = "any"
    """The earlier thinking that may be sent back as thinking."""
    temperature: bool = True


def compat_of(model: Model) -> ModelCompat:
    """Return the capabilities of ``model``; raises ``BadRequest`` if its flags are invalid."""
    strict = read_flags(model, Compat).supports_strict_mode
    name = "-".join(re.findall(r"[a-z0-9]+", f"{model.id} {model.name}".lower()))
    if "claude" in name:
        return _claude(name, strict=strict)
    if "nova" in name:
        thinking: Literal["nova", "none"] = "nova" if "nova-2" in name else "none"
        return ModelCompat(strict_tools=strict, cache="short", thinking=thinking)
    if "gpt-oss" in name:
        return ModelCompat(strict_tools=strict, thinking="gpt-oss")
    if "openai" in name:
        return ModelCompat(strict_tools=strict, thinking="openai")
    return ModelCompat(strict_tools=strict, thoughts="never" if "deepseek" in name else "any")


def _claude(name: str, *, strict: bool) -> ModelCompat:
    match = re.search(_CLAUDE, name)
    version = (int(match[1]), int(match[2] or 0)) if match else _NEWEST
    return ModelCompat(
        strict_tools=strict,
        cache="long" if version >= (4, 5) else "short" if version >= (3, 5) else "none",
        thinking="effort" if version >= (4, 6) else "budget" if version >= (3, 7) else "none",
        interleaved=(4, 0) <= version < (4, 6),
        thoughts="signed",
        temperature=version < (4, 7),
    )
