"""Settings files: ``settings.json``, which is written key by key, and YAML, which is only read.

Files are written under the lock of the original pi, so both programs can change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from pi.ai.former_names import with_names_of
from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE
from pi.coding.settings.layers import MODELS, merge_layers, migrated, renamed, with_value
from pi.coding.settings.repeated import repeated_in_json, repeated_in_yaml

CONFIG = "config.yml"
"""Settings in YAML beside ``settings.json``, which has precedence."""

_BOM = b"\xef\xbb\xbf"


class BadSettings(PiError):
    """A settings file cannot be read; it is not changed."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"Invalid settings file {path}: {reason}. Correct the file and start again;"
            " `pi doctor` checks it."
        )
        self.path = path
        self.reason = reason


class ReadableSettings(Protocol):
    """A file with settings."""

    path: Path

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``."""


class ConfigFile:
    """A settings file that is only read: YAML, or JSON with comments (``.json``, ``.jsonc``)."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        self._must_exist = must_exist

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``.

        A missing file is empty, unless it must exist.
        """
        data = _content(self.path)
        if data is None and self._must_exist:
            raise BadSettings(self.path, "the file does not exist")
        if data is None:
            return {}
        return migrated(_config_values(self.path, data))


class SettingsFile:
    """One settings file, and ``config.yml`` beside it, which is never written.

    A missing file is empty; reading creates nothing. The file may have comments and trailing
    commas: pi writes none, and keeps those that it finds.
    """

    def __init__(self, path: Path, *, clock: Clock, wait: float = 15.0) -> None:
        self.path = path
        self.config = ConfigFile(path.with_name(CONFIG))
        self._clock = clock
        self._wait = wait

    def read_or_skip(self) -> Json:
        """Return the content merged over ``config.yml``; an invalid file counts as empty.

        For what is read beside a session, which refuses to start with such a file.
        """
        layers: list[Json] = []
        for file in (self.config, self):
            try:
                layers.append(file.read())
            except BadSettings:
                layers.append({})
        return merge_layers(*layers)

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``."""
        data = _content(self.path)
        return {} if data is None else migrated(_json_object(self.path, data))

    def is_plain_json(self) -> bool:
        """Whether the original pi can read the file: without comments and trailing commas."""
        data = _content(self.path)
        return data is None or _is_plain(data)

    def change(self, changes: Mapping[tuple[str, ...], object]) -> Json:
        """Set single values by path and keep everything else; ``None`` removes one.

        Returns the new content. Concurrent changes of other programs are kept. Raises
        ``BadSettings`` for an invalid file, which is not replaced.
        """
        private_directory(self.path.parent)
        with DirectoryLock(self.path, wait=self._wait, clock=self._clock):
            data = _content(self.path) or b"{}"
            before = raw = renamed(_json_object(self.path, data))
            for path, value in changes.items():
                if path[0] in MODELS:
                    value = with_names_of(value, {name: before.get(name) for name in MODELS})
                raw = with_value(raw, path, value)
            replace_file(self.path, _with_content(data, raw).encode("utf-8", "surrogatepass"))
        return raw


def _with_content(data: bytes, raw: Json) -> str:
    """Return the text of a file that had the content ``data`` and now has the values ``raw``."""
    if _is_plain(data):
        import json  # for its indentation; msgspec reads the file

        return json.dumps(raw, indent=2, ensure_ascii=False)
    from pi.base.jsonc import edited_jsonc  # lazy: few files have comments

    return edited_jsonc(data.removeprefix(_BOM).decode(), raw)


def _content(path: Path) -> bytes | None:
    try:
        content = read_if_exists(path)
    except PiError as error:
        raise BadSettings(path, error.message.rstrip(".")) from error
    if content is None and path.is_symlink():  # such as dotfiles that are not mounted
        raise BadSettings(path, "it is a link to a file that does not exist")
    if content is not None and not content.removeprefix(_BOM).strip():
        # What a full disk or a crash leaves of a file; what it said is not known.
        raise BadSettings(path, "line 1, column 1: the file is empty; {} means no settings")
    return content


def _is_plain(data: bytes) -> bool:
    data = data.removeprefix(_BOM)
    try:
        msgspec.json.decode(data)
    except UNREADABLE:
        return False
    return True


def _json_object(path: Path, data: bytes) -> Json:
    data = data.removeprefix(_BOM)
    try:
        raw = msgspec.json.decode(data)
    except UNREADABLE:
        raw = _parse(path, data, is_json=True)
    if not isinstance(raw, dict):
        raise BadSettings(path, "line 1, column 1: expected an object, {…}")
    if repeated := repeated_in_json(data):
        raise _repeated_setting(path, data, *repeated)
    return raw


def _repeated_setting(path: Path, data: bytes, name: str, position: int) -> BadSettings:
    from pi.base.formats import position_in  # lazy: for errors only

    offset = len(data.decode()[:position].encode())
    return BadSettings(path, f'{position_in(data, offset)}: "{name}" is set a second time')


def _config_values(path: Path, data: bytes) -> Json:
    data, is_json = data.removeprefix(_BOM), path.suffix in (".json", ".jsonc")
    raw = _parse(path, data, is_json=is_json)
    if raw is None:  # only comments
        return {}
    if not isinstance(raw, dict) or not all(isinstance(name, str) for name in raw):
        raise BadSettings(path, "line 1, column 1: expected names with values")
    repeated = repeated_in_json(data) if is_json else repeated_in_yaml(data.decode())
    if repeated:
        raise _repeated_setting(path, data, *repeated)
    if any("<<" in values for values in (raw, *raw.values()) if isinstance(values, dict)):
        reason = "merge keys (<<) are not part of YAML 1.2; write the values out"
        raise BadSettings(path, reason)
    return raw


def _parse(path: Path, data: bytes, *, is_json: bool) -> Any:
    # lazy: for errors, comments and YAML only
    from pi.base.formats import BadFormat, parse_jsonc, parse_yaml, position_in, with_position

    try:
        return (parse_jsonc if is_json else parse_yaml)(data.decode())
    except UnicodeDecodeError as error:
        raise BadSettings(path, f"{position_in(data, error.start)}: not UTF-8 text") from error
    except BadFormat as error:
        raise BadSettings(path, with_position(error.reason, data)) from error
