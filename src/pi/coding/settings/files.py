"""Settings files: reading, merging of layers, and key-by-key writing under the original's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE

COMBINED = ("packages", "extensions", "skills", "prompts", "themes")
"""Lists of resources: a project adds to them and does not replace them."""


def migrated(raw: Json) -> Json:
    """Return ``raw`` with old setting names replaced by current ones."""
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


def merge_layers(below: Json, above: Json) -> Json:
    """Merge two layers: objects merge, lists of resources add up, other values are replaced."""
    result = _merged_objects(below, above)
    for name in COMBINED:
        lower, upper = below.get(name), above.get(name)
        if isinstance(lower, list) and isinstance(upper, list):
            result[name] = [*lower, *upper]
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


def value_at(raw: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at ``path``, or ``None``."""
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


class BadSettings(PiError):
    """A settings file is invalid; it is not changed."""


class SettingsFile:
    """One settings file. A missing file is empty; reading creates nothing."""

    def __init__(self, path: Path, *, clock: Clock, wait: float = 15.0) -> None:
        self.path = path
        self._clock = clock
        self._wait = wait

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``."""
        return migrated(self._raw())

    def change(self, changes: Mapping[tuple[str, ...], object]) -> Json:
        """Set single values by path and keep everything else; ``None`` removes one.

        Concurrent changes of other programs are kept. An invalid file is not replaced.
        """
        import json  # for its indentation; msgspec reads the file

        private_directory(self.path.parent)
        with DirectoryLock(self.path, wait=self._wait, clock=self._clock):
            raw = migrated(self._raw())
            for path, value in changes.items():
                raw = with_value(raw, path, value)
            text = json.dumps(raw, indent=2, ensure_ascii=False)
            replace_file(self.path, text.encode("utf-8", "surrogatepass"))
        return raw

    def _raw(self) -> Json:
        data = read_if_exists(self.path)
        if data is None or not data.strip():
            return {}
        try:
            raw = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
        except UNREADABLE as error:
            raise BadSettings(f"Invalid settings file {self.path}: {error}") from error
        if not isinstance(raw, dict):
            raise BadSettings(f"Invalid settings file {self.path}: it must hold a JSON object")
        return raw
