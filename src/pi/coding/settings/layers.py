"""Settings as JSON objects: old spellings, and one layer over another. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.ai.messages import Json

COMBINED = ("packages", "extensions", "skills", "prompts", "themes")
"""Lists of resources: a project adds to them and does not replace them."""


def migrated(raw: Json) -> Json:
    """``raw`` with what older versions wrote under the names of today."""
    new = dict(raw)
    if "queueMode" in new:
        new.setdefault("steeringMode", new.pop("queueMode"))
    if "websockets" in new:
        wanted = new.pop("websockets")
        if wanted is True:
            new.setdefault("transport", "websocket")
    skills = new.get("skills")
    if isinstance(skills, dict):
        new["skills"] = skills.get("customDirectories") or []
        if "enableSkillCommands" in skills:
            new.setdefault("enableSkillCommands", skills["enableSkillCommands"])
    retry = new.get("retry")
    if isinstance(retry, dict) and "maxDelayMs" in retry:
        retry = dict(retry)
        longest = retry.pop("maxDelayMs")
        provider = retry.get("provider")
        retry["provider"] = {"maxRetryDelayMs": longest, **_object(provider)}
        new["retry"] = retry
    return new


def merged(below: Json, above: Json) -> Json:
    """One layer over another: objects merge, lists of resources add up, the rest is replaced."""
    result = _merged_objects(below, above)
    for name in COMBINED:
        lower, upper = below.get(name), above.get(name)
        if isinstance(lower, list) and isinstance(upper, list):
            result[name] = [*lower, *upper]
    return result


def with_value(raw: Json, path: Sequence[str], value: object) -> Json:
    """``raw`` with ``value`` at ``path``; ``None`` removes what is there. Nothing else changes."""
    name, *rest = path
    changed = dict(raw)
    if rest:
        changed[name] = with_value(_object(raw.get(name)), rest, value)
    elif value is None:
        changed.pop(name, None)
    else:
        changed[name] = value
    return changed


def value_at(raw: Mapping[str, Any], path: Sequence[str]) -> Any:
    """What stands at ``path``; ``None`` when nothing does."""
    found: Any = raw
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _merged_objects(below: Json, above: Json) -> Json:
    result = dict(below)
    for name, value in above.items():
        lower = result.get(name)
        if isinstance(lower, dict) and isinstance(value, dict):
            value = _merged_objects(lower, value)
        result[name] = value
    return result


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
