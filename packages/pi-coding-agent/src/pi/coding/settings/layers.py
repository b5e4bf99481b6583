"""Layers of settings as JSON: old names, merging, values by path. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.ai.former_names import with_current_names
from pi.ai.messages import Json

COMBINED = ("packages", "extensions", "skills", "prompts", "themes")
"""Lists of resources: a project adds to them and does not replace them."""


MODELS = frozenset(
    {
        "compaction",
        "contextPromotionTarget",
        "cycleOrder",
        "defaultProvider",
        "enabledModels",
        "modelRoles",
        "modelTags",
        "modelThinkingLevels",
    }
)
"""Settings that name providers and models."""


def migrated(raw: Json) -> Json:
    """Return ``raw`` with old names of settings and providers replaced by current ones."""
    new = renamed(raw)
    return {k: with_current_names(v) if k in MODELS else v for k, v in new.items()}


def renamed(raw: Json) -> Json:
    """Return ``raw`` with old names of settings replaced by current ones."""
    new = dict(raw)
    if "queueMode" in new:
        new.setdefault("steeringMode", new.pop("queueMode"))
    if "websockets" in new:
        enabled = new.pop("websockets")
        if enabled is True:
            new.setdefault("transport", "websocket")
    skills = new.get("skills")
    if isinstance(skills, dict):
        new["skills"] = skills.get("customDirectories") or []
        for name in ("enableSkillCommands", "ignoredSkills", "includeSkills"):
            if name in skills:
                new.setdefault(name, skills[name])
    retry = new.get("retry")
    if isinstance(retry, dict) and "maxDelayMs" in retry:
        retry = dict(retry)
        longest = retry.pop("maxDelayMs")
        provider = retry.get("provider")
        retry["provider"] = {"maxRetryDelayMs": longest, **_object(provider)}
        new["retry"] = retry
    return new


def merge_layers(below: Json, above: Json) -> Json:
    """Merge two layers: objects merge, lists of resources add up, other values are replaced."""
    result = _merge_objects(below, above)
    for name in COMBINED:
        lower, upper = below.get(name), above.get(name)
        if isinstance(lower, list) and isinstance(upper, list):
            result[name] = [*lower, *upper]
    lower, upper = below.get("defaultTools"), above.get("defaultTools")
    if isinstance(lower, list) and isinstance(upper, list) and _are_changes(upper):
        result["defaultTools"] = [*lower, *upper]
    return result


def with_value(raw: Json, path: Sequence[str], value: object) -> Json:
    """Return ``raw`` with ``value`` at ``path``; ``None`` removes it. Nothing else changes."""
    name, *rest = path
    changed = dict(raw)
    if rest:
        changed[name] = with_value(_object(raw.get(name)), rest, value)
    elif value is None:
        changed.pop(name, None)
    else:
        changed[name] = value
    return changed


def nested(values: Mapping[str, object]) -> Json:
    """Return values with dotted names as nested objects."""
    objects: Json = {}
    for name, value in values.items():
        objects = merge_layers(objects, with_value({}, name.split("."), value))
    return objects


def value_at(raw: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at ``path``, or ``None``."""
    value: Any = raw
    for name in path:
        # ``dict`` first: a check against an abstract class is slow, and every start makes many.
        if not isinstance(value, (dict, Mapping)):
            return None
        value = value.get(name)
    return value


def _are_changes(tools: Sequence[object]) -> bool:
    """Whether a list of tools changes the one of the layer below: ``+name`` and ``-name`` only."""
    return bool(tools) and all(
        isinstance(tool, str) and tool.startswith(("+", "-")) for tool in tools
    )


def _merge_objects(below: Json, above: Json) -> Json:
    result = dict(below)
    for name, value in above.items():
        lower = result.get(name)
        if isinstance(lower, dict) and isinstance(value, dict):
            value = _merge_objects(lower, value)
        result[name] = value
    return result


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
