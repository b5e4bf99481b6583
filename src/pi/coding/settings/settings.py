"""Settings: files with key-by-key writing, layers that merge, and lenient reading into records.

Files are written under the lock of the original pi, so both programs can change them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE, Record
from pi.coding.settings.values import GLOBAL_ONLY, Values

R = TypeVar("R", bound=Record)

Warn: TypeAlias = Callable[[str], None]

RECOMMENDED = "recommended"
"""The value of ``batteries`` that switches the recommended batteries on."""

CONFIG = "config.yml"
"""Settings in YAML beside ``settings.json``, which has precedence."""

COMBINED = ("packages", "extensions", "skills", "prompts", "themes")
"""Lists of resources: a project adds to them and does not replace them."""


def read_record(kind: type[R], raw: object, *, warn: Warn, where: str = "") -> R:
    """Return a ``kind`` with every value of ``raw`` that has the right type.

    Other values are reported by name and keep their default; unknown names are ignored.
    """
    if not isinstance(raw, dict):
        warn(f'Ignored setting "{where}": expected an object, got {_shown(raw)}')
        raw = {}
    if raw.keys().isdisjoint(kind.__struct_encode_fields__):
        return kind()
    fields: Json = {}
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    for field, written in names:
        if written in raw:
            name = f"{where}.{written}" if where else written
            value, type_ = raw[written], _type_of(kind, field)
            try:
                fields[field] = _value(type_, value, warn, name)
            except msgspec.ValidationError as error:
                warn(f'Ignored setting "{name}": {_reason(error, type_)}, got {_shown(value)}')
    return kind(**fields)


def _type_of(kind: type[Record], field: str) -> Any:
    """Return the type of one field.

    ``msgspec.structs.fields`` evaluates the annotations of all fields. A settings file sets few of
    them, and evaluating the others took 1.5 % of every start.
    """
    owner = next(each for each in kind.__mro__ if field in vars(each).get("__annotations__", ()))
    annotation = owner.__annotations__[field]
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, vars(sys.modules[owner.__module__]), vars(owner))


def _value(kind: Any, value: object, warn: Warn, name: str) -> object:
    if isinstance(kind, type) and issubclass(kind, Record):
        return read_record(kind, value, warn=warn, where=name)
    return msgspec.convert(value, kind)


def _reason(error: msgspec.ValidationError, kind: Any) -> str:
    text = str(error).split(" - at ")[0].split(", got ")[0]
    if text.startswith("Invalid enum value"):  # msgspec names neither the enum nor its values
        return f"expected {' or '.join(_choices(kind))}"
    return text[:1].lower() + text[1:]


def _choices(kind: Any) -> Iterator[str]:
    """Yield the values of a ``Literal``, also inside of a union or a container."""
    if get_origin(kind) is Literal:
        yield from map(str, get_args(kind))
    else:
        for part in get_args(kind):
            yield from _choices(part)


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()[:60]


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


def nested(values: Mapping[str, object]) -> Json:
    """Return values with dotted names as nested objects."""
    objects: Json = {}
    for name, value in values.items():
        objects = merge_layers(objects, with_value({}, name.split("."), value))
    return objects


def value_at(raw: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at ``path``, or ``None``."""
    found: Any = raw
    for name in path:
        # ``dict`` first: a check against an abstract class is slow, and every start makes many.
        if not isinstance(found, (dict, Mapping)):
            return None
        found = found.get(name)
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


class ConfigFile:
    """A settings file that is only read: YAML, or JSON with comments (``.json``, ``.jsonc``)."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        self._must_exist = must_exist

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``.

        A missing file is empty, unless it must exist.
        """
        try:
            data = read_if_exists(self.path)
        except OSError as error:
            raise BadSettings(f"Cannot read the config file {self.path}: {error}") from error
        if data is None and self._must_exist:
            raise BadSettings(f"The config file {self.path} does not exist.")
        if data is None or not data.strip():
            return {}
        return migrated(_config_values(self.path, data))


def _config_values(path: Path, data: bytes) -> Json:
    # lazy: few users have the file
    from pi.base.formats import BadFormat, parse_jsonc, parse_yaml, with_line

    parse = parse_jsonc if path.suffix in (".json", ".jsonc") else parse_yaml
    try:
        raw = parse(data.removeprefix(b"\xef\xbb\xbf").decode())
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadSettings(f"Invalid config file {path}: line {line}: not UTF-8 text") from error
    except BadFormat as error:
        raise BadSettings(f"Invalid config file {path}: {with_line(error.reason, data)}") from error
    if raw is None:  # only comments
        return {}
    if not isinstance(raw, dict) or not all(isinstance(name, str) for name in raw):
        raise BadSettings(f"Invalid config file {path}: line 1: expected names with values")
    return raw


class SettingsFile:
    """One settings file, and ``config.yml`` beside it, which is never written.

    A missing file is empty; reading creates nothing.
    """

    def __init__(self, path: Path, *, clock: Clock, wait: float = 15.0) -> None:
        self.path = path
        self.config = ConfigFile(path.with_name(CONFIG))
        self._clock = clock
        self._wait = wait

    def read_with_config(self, warn: Warn) -> Json:
        """Return the content merged over ``config.yml``; an invalid file counts as empty."""
        layers: list[Json] = []
        for file in (self.config, self):
            try:
                layers.append(file.read())
            except PiError as error:
                warn(error.message)
                layers.append({})
        return merge_layers(*layers)

    def read(self) -> Json:
        """Return the content with current setting names; raises ``BadSettings``."""
        return migrated(self._raw())

    def change(self, changes: Mapping[tuple[str, ...], object]) -> Json:
        """Set single values by path and keep everything else; ``None`` removes one.

        Returns the new content. Concurrent changes of other programs are kept. Raises
        ``BadSettings`` for an invalid file, which is not replaced.
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
            from pi.base.formats import with_line  # lazy: for errors only

            reason = with_line(str(error), data)
            raise BadSettings(f"Invalid settings file {self.path}: {reason}") from error
        if not isinstance(raw, dict):
            raise BadSettings(f"Invalid settings file {self.path}: it must hold a JSON object")
        return raw


class Settings:
    """Layers of settings: defaults, user, project, overlays, overrides; later ones take precedence.

    The project's files count only if they are trusted. With ``batteries: "recommended"``, the
    settings that batteries recommend are added to the defaults. ``warnings`` lists invalid values
    among those that were read. Nothing is read before ``load``.
    """

    def __init__(
        self,
        user: SettingsFile | None = None,
        project: SettingsFile | None = None,
        *,
        overrides: Json | None = None,
        overlays: Sequence[ConfigFile] = (),
    ) -> None:
        self.warnings: list[str] = []
        self._user_file, self._project_file = user, project
        self._overlay_files = tuple(overlays)
        self._user: Json = {}
        self._project: Json = {}
        self._overlay: Json = {}
        self._overrides = migrated(overrides or {})
        self._recommended: Callable[[], Json] = dict
        self.raw: Json = dict(self._overrides)
        """All layers merged, as JSON, unknown names included."""
        self._sections: dict[tuple[tuple[str, ...], type[Record]], Record] = {}
        self._listeners: list[Callable[[], None]] = []
        self._report: Callable[[str], None] | None = None

    @classmethod
    def of(
        cls, agent_dir: Path, cwd: Path, *, trusted: bool = False, clock: Clock | None = None
    ) -> Settings:
        """Read the settings of the user and, if trusted, of the project."""
        clock = clock or SystemClock()
        settings = cls(SettingsFile(agent_dir / "settings.json", clock=clock))
        settings.load()
        if trusted:
            settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=clock))
        return settings

    @classmethod
    def in_memory(cls, values: Json | None = None) -> Settings:
        """Make settings without files, for tests and for programs that embed pi.

        Dotted names are paths, as in ``set``: ``{"compaction.enabled": False}``.
        """
        return cls(overrides=nested(values or {}))

    # Reading --------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the files again; invalid content is reported and ignored."""
        self.warnings.clear()
        self._user = self._read(self._user_file)
        self._project = self._read(self._project_file)
        self._overlay = self._read_overlays()
        self._merge()

    def trust_project(self, file: SettingsFile) -> None:
        """Include the project's file from now on."""
        self._project_file = file
        self._project = self._read(file)
        self._merge()

    @cached_property
    def values(self) -> Values:
        """The general settings; cached until something changes."""
        return self.section((), Values)

    @property
    def overrides(self) -> Json:
        """Values for this run only: from the command line, or set without storing."""
        return self._overrides

    def without_project(self, path: Sequence[str]) -> Any:
        """Return the value at ``path`` from the user's files, overlays and overrides alone."""
        own = merge_layers(self._user, self._overlay)
        return value_at(merge_layers(own, self._overrides), path)

    def section(self, path: Sequence[str], kind: type[R]) -> R:
        """Return the object at ``path`` as a record; cached until something changes."""
        key = (tuple(path), kind)
        found = self._sections.get(key)
        if not isinstance(found, kind):
            raw = value_at(self.raw, path) if path else self.raw
            found = read_record(
                kind, {} if raw is None else raw, warn=self._warn, where=".".join(path)
            )
            self._sections[key] = found
        return found

    def layer(self, scope: str, path: Sequence[str]) -> object:
        """Return the value in one layer alone, ``user`` or ``project``.

        Overlays and settings in memory count as the user's, so that they can contain lists of
        resources.
        """
        if scope == "user" and self._user_file is None:
            return value_at(self._overrides, path)
        own = merge_layers(self._user, self._overlay)
        return value_at(own if scope == "user" else self._project, path)

    def on_warning(self, report: Callable[[str], None]) -> None:
        """Call ``report`` with every warning, past ones included."""
        self._report = report
        for warning in self.warnings:
            report(warning)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after every change. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Changing -------------------------------------------------------------------------------------

    def set(self, changes: Mapping[str, object]) -> None:
        """Store values by dotted name in the user's file; ``None`` removes one.

        Without a file they last as long as the program. Raises ``PiError`` if they cannot be
        stored; they are still valid for this session.
        """
        paths = {tuple(name.split(".")): value for name, value in changes.items()}
        error: PiError | None = None
        if self._user_file is not None:
            try:
                self._user_file.change(paths)
                self._user = self._read(self._user_file)
            except PiError as failed:
                error = failed
        if self._user_file is None or error is not None:
            self.override(changes)
        self._merge()
        if error is not None:
            raise error

    def set_for_project(self, changes: Mapping[str, object]) -> None:
        """Store values in the project's file; raises ``PiError`` if it is not trusted."""
        if self._project_file is None:
            raise PiError("The project is not trusted.", hint="Trust it first, or use --approve.")
        paths = {tuple(name.split(".")): value for name, value in changes.items()}
        self._project_file.change(paths)
        self._project = self._read(self._project_file)
        self._merge()

    def recommend(self, recommended: Callable[[], Json]) -> None:
        """Use these values as defaults while ``batteries`` is ``"recommended"``.

        ``recommended`` is called only then, because it reads the index of extensions.
        """
        self._recommended = recommended
        if self.raw.get("batteries") == RECOMMENDED:
            self._merge()

    def override(self, changes: Mapping[str, object]) -> None:
        """Set values for this session only."""
        for name, value in changes.items():
            self._overrides = with_value(self._overrides, name.split("."), value)
        self._merge()

    # Layers ---------------------------------------------------------------------------------------

    def _read(self, file: SettingsFile | None) -> Json:
        return {} if file is None else file.read_with_config(self._warn)

    def _read_overlays(self) -> Json:
        merged: Json = {}
        for file in self._overlay_files:
            try:
                merged = merge_layers(merged, file.read())
            except PiError as error:
                self._warn(error.message)
        return merged

    def _merge(self) -> None:
        project = {name: value for name, value in self._project.items() if name not in GLOBAL_ONLY}
        files = merge_layers(merge_layers(self._user, project), self._overlay)
        self.raw = merge_layers(files, self._overrides)
        if self.raw.get("batteries") == RECOMMENDED:
            self.raw = merge_layers(self._recommended(), self.raw)
        self._sections.clear()
        self.__dict__.pop("values", None)
        for listener in tuple(self._listeners):
            listener()

    def _warn(self, text: str) -> None:
        if text in self.warnings:
            return
        self.warnings.append(text)
        if self._report is not None:
            self._report(text)
