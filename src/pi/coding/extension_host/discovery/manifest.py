"""The manifest of an extension (``pi.toml``, ``[tool.pi]`` or a comment): triggers and flags.

A single file contains it as a block of comments, in the form of PEP 723::

    # /// pi
    # api = 1
    # activate = ["command:weather"]
    # commands = { weather = "show the weather" }
    # ///
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import field

from pi.base.files import open_regular, read_regular
from pi.base.formats import BadFormat, parse_toml
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.resources.sources import is_file
from pi.coding.settings.settings import value_at

if TYPE_CHECKING:
    from pi.coding.port.ui import Mode
    from pi.coding.session.log import SessionLog
    from pi.coding.settings.settings import Settings


API_VERSION = 1
"""The supported ``api`` of manifests. Raised with every incompatible change of the API."""

FILE = "pi.toml"
_BLOCK = r"(?m)^# /// pi\s*$\n(?P<body>(?:^#(?: .*)?$\n)+?)^# ///\s*$"
MAX_HEAD = 4096
"""Characters at the start of a file in which its manifest must begin."""

ALWAYS = ("startup", "session")
"""Triggers without a name."""
NAMED = (
    *("command", "event", "tool", "scheme", "shortcut", "prefix"),
    *("flag", "entry", "setting", "mode", "variable", "selected"),
)
"""Triggers with a name: ``command:weather``."""


class ToolManifest(Record, rename=None):
    """A tool that is declared to models before the extension is loaded."""

    description: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of its arguments."""
    snippet: str = ""
    guidelines: tuple[str, ...] = ()


class Subcommand(Record, rename=None):
    """``pi name …``: starts a session and runs the command ``/name …`` in it."""

    help: str = ""
    mode: Literal["", "print"] = ""
    """``print`` if it needs no terminal UI even if there is one."""


class Manifest(Record, rename=None):
    """All fields are optional; without a manifest an extension is loaded with every session."""

    api: int = API_VERSION
    name: str = ""
    description: str = ""
    """What it does, in one line, for ``/extensions``."""
    commands: dict[str, str] = field(default_factory=dict)
    """Names with their descriptions."""
    flags: dict[str, dict[str, Any]] = field(default_factory=dict)
    subcommands: dict[str, Subcommand] = field(default_factory=dict)
    tools: dict[str, ToolManifest] = field(default_factory=dict)
    shortcuts: dict[str, str] = field(default_factory=dict)
    """Keys with their descriptions."""
    prefixes: dict[str, str] = field(default_factory=dict)
    """Prefixes of its input modes with their labels."""
    activate: tuple[str, ...] = ("session",)
    """When to load the extension: one of the triggers is enough.

    ``startup``, ``session``: every session. ``flag:x``: the command line has ``--x``. ``mode:x``:
    pi runs as ``interactive``, ``print``, ``json`` or ``rpc``. ``entry:x``: the opened session has
    a custom entry of that type. ``setting:a.b``: the setting is neither ``null`` nor ``false``.
    ``variable:X``: the environment variable is not empty. ``selected:x``: ``--tools`` or
    ``defaultTools`` names the tool.
    ``command:x``: ``/x`` is typed. ``event:x``: the event is emitted. ``tool:x``: the tool is
    called. ``scheme:x``: ``x://…`` is read or written. ``shortcut:x``: the key is pressed.
    ``prefix:x``: input starts with the prefix.
    """
    modes: tuple[str, ...] = ()
    """The modes it supports: ``interactive``, ``print``, ``json``, ``rpc``; empty means all.

    It is never loaded in other modes.
    """
    sub_sessions: bool = False
    """Whether nested sessions load it as well; its policies always apply to them."""
    extensions: tuple[str, ...] | None = None
    """Of a folder: the files or folders in it that are extensions."""

    def declared_commands(self) -> dict[str, str]:
        """Every declared command with its description."""
        known = {name.removeprefix("/"): text for name, text in self.commands.items()}
        for name in self.triggers("command"):
            known.setdefault(name.removeprefix("/"), "")
        return known

    def triggers(self, kind: str) -> tuple[str, ...]:
        """The names of all triggers of one kind."""
        parts = (trigger.partition(":") for trigger in self.activate)
        return tuple(name for first, _, name in parts if first == kind and name)


def read_manifest(path: Path) -> Manifest:
    """The manifest of an extension file or folder. Raises ``ExtensionError`` if it is invalid."""
    found = _folder_manifest(path) if path.is_dir() else _block(path)
    if found is None:
        return Manifest()
    where, table = found
    try:
        manifest = msgspec.convert(table, Manifest)
    except msgspec.ValidationError as error:
        raise ExtensionError(f"The manifest in {where} is invalid: {error}") from error
    for trigger in manifest.activate:
        _check_trigger(trigger, where)
    return manifest


def check_version(manifest: Manifest, name: str) -> None:
    """Raise ``ExtensionError`` if the extension needs another version of the API."""
    if manifest.api > API_VERSION:
        raise ExtensionError(
            f"{name} needs version {manifest.api} of the extension API;"
            f" this pi has version {API_VERSION}.",
            hint="Update pi.",
        )
    if manifest.api < API_VERSION:
        raise ExtensionError(
            f"{name} was written for version {manifest.api} of the extension API;"
            f" this pi has version {API_VERSION}.",
            hint="Update the extension.",
        )


def _check_trigger(trigger: str, where: Path) -> None:
    kind, _, name = trigger.partition(":")
    if trigger not in ALWAYS and not (kind in NAMED and name):
        forms = (*ALWAYS, *(f"{named}:…" for named in NAMED))
        raise ExtensionError(
            f"Unknown trigger {trigger!r} in the manifest of {where}.",
            hint=f"Use one of {', '.join(forms)}.",
        )


def _folder_manifest(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    own, project = folder / FILE, folder / "pyproject.toml"
    if is_file(own):
        return own, _parsed(_read(own), own)
    if is_file(project):
        tool = _parsed(_read(project), project).get("tool")
        table = tool.get("pi") if isinstance(tool, dict) else None
        return None if table is None else (project, table)
    return None


def _read(path: Path, begin: int | None = None) -> str:
    """The text of a file, or of its first bytes."""
    try:
        if begin is None:
            return read_regular(path).decode("utf-8", "replace")
        with open_regular(path) as file:
            return file.read(begin).decode("utf-8", "replace")
    except OSError as error:
        raise ExtensionError(f"{path} cannot be read: {error.strerror}") from error


def _block(path: Path) -> tuple[Path, dict[str, Any]] | None:
    begin = _read(path, MAX_HEAD)
    if "# /// pi" not in begin or (found := re.search(_BLOCK, begin)) is None:
        return None
    lines = (line[2:] for line in found["body"].splitlines())
    return path, _parsed("\n".join(lines), path)


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except BadFormat as error:
        raise ExtensionError(f"The manifest in {path} {error.message}") from error


_SEEN = ("event", "tool", "scheme", "shortcut", "prefix")
"""Triggers that need a stand-in from the start."""

INTERACTIVE: Mode = "tui"
"""The name in the API of the mode that manifests call ``interactive``."""


def supports_mode(manifest: Manifest, mode: Mode) -> bool:
    """Whether an extension supports the mode."""
    return not manifest.modes or mode in _api_modes(manifest.modes)


def loads_at_start(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether an extension is loaded before the session exists."""
    if not manifest.activate or any(trigger in ALWAYS for trigger in manifest.activate):
        return True
    modes = _api_modes(manifest.triggers("mode"))
    return mode in modes or any(name in flags for name in manifest.triggers("flag"))


def can_defer(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether an extension needs no stand-in before a command is typed or a session begins."""
    if not supports_mode(manifest, mode):
        return True
    if manifest.tools or manifest.shortcuts or manifest.prefixes:
        return False
    needed = any(manifest.triggers(kind) for kind in _SEEN)
    return not needed and not loads_at_start(manifest, flags, mode)


def depends_on_session(manifest: Manifest) -> bool:
    """Whether triggers depend on the session or its settings."""
    return any(manifest.triggers(kind) for kind in ("entry", "setting", "variable", "selected"))


class SessionTriggers(Record):
    """What the triggers of a session are compared with."""

    log: SessionLog
    settings: Settings
    environ: Mapping[str, str] = field(default_factory=dict)
    selected_tools: Collection[str] = ()
    """The tools that the command line or the settings name."""


def is_triggered(session: SessionTriggers, manifest: Manifest) -> bool:
    """Whether a session, its settings or its environment contain a trigger of the extension."""
    return (
        _is_set(session.settings, manifest)
        or any(session.environ.get(name) for name in manifest.triggers("variable"))
        or any(name in session.selected_tools for name in manifest.triggers("selected"))
        or _holds_entry(session.log, set(manifest.triggers("entry")))
    )


def _api_modes(modes: Iterable[str]) -> list[str]:
    """Modes of a manifest under their names in the API."""
    return [INTERACTIVE if mode == "interactive" else mode for mode in modes]


def _is_set(settings: Settings, manifest: Manifest) -> bool:
    values = (value_at(settings.raw, name.split(".")) for name in manifest.triggers("setting"))
    return any(value is not None and value is not False for value in values)


def _holds_entry(log: SessionLog, types: set[str]) -> bool:
    if not types:
        return False
    outlines = enumerate(log.tree.outlines)
    # Custom entries are few, and only these are decoded.
    places = (place for place, outline in outlines if outline.type == "custom")
    return any(log.json(place).get("customType") in types for place in places)


FlagKind: TypeAlias = Literal["boolean", "string"]
FlagValue: TypeAlias = bool | str | None


class FollowingWord(str):
    """A word after an option: its value if the option takes one, else an argument."""

    __slots__ = ()


class ExtensionFlag(Record):
    """A command-line option of an extension."""

    name: str
    kind: FlagKind
    default: FlagValue = None
    description: str = ""


def check_flag(flag: ExtensionFlag) -> ExtensionFlag:
    """Return ``flag``. Raises ``ExtensionError`` if its kind or default is invalid."""
    expected = {"boolean": bool, "string": str}.get(flag.kind)
    if expected is None:
        raise ExtensionError(
            f"The flag --{flag.name} has the unknown type {flag.kind!r}.",
            hint="Flags are boolean or string.",
        )
    if flag.default is not None and not isinstance(flag.default, expected):
        raise ExtensionError(
            f"The default of --{flag.name} must be a {expected.__name__}, not {flag.default!r}."
        )
    return flag


def declared_flag(name: str, declared: Mapping[str, Any]) -> ExtensionFlag:
    """An option as declared in a manifest."""
    return ExtensionFlag(
        name=name,
        kind=declared.get("type", "boolean"),
        default=declared.get("default"),
        description=declared.get("description", ""),
    )


def flag_value(flag: ExtensionFlag, given: Mapping[str, bool | str]) -> FlagValue:
    """The value from the command line, or the default."""
    value = given.get(flag.name)
    if value is None:
        return flag.default
    if flag.kind == "boolean":
        if isinstance(value, FollowingWord):
            return True
        return value if isinstance(value, bool) else value.lower() not in ("false", "no", "0", "")
    return str(value) if isinstance(value, str) else None
