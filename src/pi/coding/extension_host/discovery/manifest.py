"""What an extension says of itself without being run: ``pi.toml``, ``[tool.pi]``, or a comment.

A single file has it as a block of comments, in the form of PEP 723::

    # /// pi
    # api = 1
    # activate = ["command:weather"]
    # commands = { weather = "show the weather" }
    # ///
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import field

from pi.base.files import open_regular, read_regular
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.resources.sources import is_file
from pi.coding.settings.files import value_at

if TYPE_CHECKING:
    from pi.coding.port.ui import Mode
    from pi.coding.session.log import SessionLog
    from pi.coding.settings.settings import Settings


API_VERSION = 1
"""What ``api`` of a manifest is compared with. Raised when something promised changes."""

FILE = "pi.toml"
_BLOCK = r"(?m)^# /// pi\s*$\n(?P<body>(?:^#(?: .*)?$\n)+?)^# ///\s*$"
LONGEST_LOOK = 4096
"""Characters from the beginning of a file in which its manifest must begin."""

ALWAYS = ("startup", "session")
"""Triggers that have no name."""
NAMED = (
    *("command", "event", "tool", "scheme", "shortcut", "prefix"),
    *("flag", "entry", "setting", "mode"),
)
"""Kinds of triggers that have one: ``command:weather``."""


class ToolManifest(Record, rename=None):
    """A tool that models are told of before the extension is loaded."""

    description: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of its arguments."""
    snippet: str = ""
    guidelines: tuple[str, ...] = ()


class Subcommand(Record, rename=None):
    """``pi name …``: begins a session and runs the command ``/name …`` in it at once."""

    help: str = ""
    mode: Literal["", "print"] = ""
    """``print`` for one that needs no screen even if there is one."""


class Manifest(Record, rename=None):
    """Everything is optional; without one an extension is loaded with every session."""

    api: int = API_VERSION
    name: str = ""
    commands: dict[str, str] = field(default_factory=dict)
    """Names with their descriptions."""
    flags: dict[str, dict[str, Any]] = field(default_factory=dict)
    subcommands: dict[str, Subcommand] = field(default_factory=dict)
    tools: dict[str, ToolManifest] = field(default_factory=dict)
    shortcuts: dict[str, str] = field(default_factory=dict)
    """Keys with what they do."""
    prefixes: dict[str, str] = field(default_factory=dict)
    """What the texts of its input modes begin with, each with its label."""
    activate: tuple[str, ...] = ("session",)
    """When it is loaded; ``pi.coding.extension_host.discovery.manifest`` says what each means."""
    modes: tuple[str, ...] = ()
    """Those of ``interactive``, ``print``, ``json`` and ``rpc`` that it is for; empty means all."""
    sub_sessions: bool = False
    """Whether it is loaded in every session that works for one with it; its guards hold anyway."""
    extensions: tuple[str, ...] | None = None
    """Of a folder: the files or folders in it that are extensions."""

    def declared_commands(self) -> dict[str, str]:
        """Every command that it is known to have, with its description."""
        known = {name.removeprefix("/"): told for name, told in self.commands.items()}
        for name in self.triggers("command"):
            known.setdefault(name.removeprefix("/"), "")
        return known

    def triggers(self, kind: str) -> tuple[str, ...]:
        """The names of one kind that it waits for."""
        parts = (trigger.partition(":") for trigger in self.activate)
        return tuple(name for first, _, name in parts if first == kind and name)


def read_manifest(path: Path) -> Manifest:
    """The manifest of an extension file or folder; ``ExtensionError`` if it is broken."""
    found = _folder_manifest(path) if path.is_dir() else _block(path)
    if found is None:
        return Manifest()
    where, table = found
    try:
        manifest = msgspec.convert(table, Manifest)
    except msgspec.ValidationError as problem:
        raise ExtensionError(f"The manifest in {where} cannot be used: {problem}") from problem
    for trigger in manifest.activate:
        _check_trigger(trigger, where)
    return manifest


def check_version(manifest: Manifest, name: str) -> None:
    """Refuse an extension that was written for another version of the API."""
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
            f"The manifest in {where} waits for {trigger!r}, which never happens.",
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
    except OSError as problem:
        raise ExtensionError(f"{path} cannot be read: {problem.strerror}") from problem


def _block(path: Path) -> tuple[Path, dict[str, Any]] | None:
    begin = _read(path, LONGEST_LOOK)
    if "# /// pi" not in begin or (found := re.search(_BLOCK, begin)) is None:
        return None
    lines = (line[2:] for line in found["body"].splitlines())
    return path, _parsed("\n".join(lines), path)


def _parsed(text: str, path: Path) -> dict[str, Any]:
    from pi.coding.packages.contents import parse_toml  # most extensions have no manifest

    try:
        return parse_toml(text)
    except ValueError as problem:
        raise ExtensionError(f"The manifest in {path} is no TOML: {problem}") from problem


# When an extension is loaded: what its manifest waits for, and whether that is so.
#
# ``startup``, ``session`` with every session ``flag:x`` the command line has ``--x`` ``mode:x``
# pi runs as ``interactive``, ``print``, ``json`` or ``rpc`` ``entry:x`` the session that is
# opened holds a custom entry of that type ``setting:a.b`` that setting has a value other than
# ``null`` and ``false`` ``command:x`` ``/x`` is typed ``event:x`` that event happens ``tool:x``
# that tool is called ``scheme:x`` ``x://…`` is read or written ``shortcut:x`` that key is pressed
# ``prefix:x`` a text is sent that begins so
#
# One of them is enough. An extension that is for other ``modes`` is never loaded.


_SEEN = ("event", "tool", "scheme", "shortcut", "prefix")
"""Triggers for which something has to stand in the extension's place from the start."""

INTERACTIVE: Mode = "tui"
"""What extensions are told of the mode that manifests call ``interactive``."""


def is_for(manifest: Manifest, mode: Mode) -> bool:
    """Whether an extension is for the way in which pi runs."""
    return not manifest.modes or mode in _told(manifest.modes)


def wanted_at_start(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether an extension is loaded before there is a session."""
    if not manifest.activate or any(trigger in ALWAYS for trigger in manifest.activate):
        return True
    modes = _told(manifest.triggers("mode"))
    return mode in modes or any(name in flags for name in manifest.triggers("flag"))


def can_defer(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether nothing has to stand in its place before a command is typed or a session begins."""
    if not is_for(manifest, mode):
        return True
    if manifest.tools or manifest.shortcuts or manifest.prefixes:
        return False
    needed = any(manifest.triggers(kind) for kind in _SEEN)
    return not needed and not wanted_at_start(manifest, flags, mode)


def asks_session(manifest: Manifest) -> bool:
    """Whether it depends on the session and its settings that an extension is loaded."""
    return bool(manifest.triggers("entry") or manifest.triggers("setting"))


def wanted_in(log: SessionLog, settings: Settings, manifest: Manifest) -> bool:
    """Whether a session or its settings hold what an extension waits for."""
    return _is_set(settings, manifest) or _holds_entry(log, set(manifest.triggers("entry")))


def _told(modes: Iterable[str]) -> list[str]:
    """Modes that a manifest names, as extensions are told them."""
    return [INTERACTIVE if mode == "interactive" else mode for mode in modes]


def _is_set(settings: Settings, manifest: Manifest) -> bool:
    values = (value_at(settings.raw, name.split(".")) for name in manifest.triggers("setting"))
    return any(value is not None and value is not False for value in values)


def _holds_entry(log: SessionLog, types: set[str]) -> bool:
    if not types:
        return False
    outlines = enumerate(log.tree.outlines)
    # A long session has few of them, and only these are read.
    places = (place for place, outline in outlines if outline.type == "custom")
    return any(log.json(place).get("customType") in types for place in places)


# Options of the command line that extensions add.


FlagKind: TypeAlias = Literal["boolean", "string"]
FlagValue: TypeAlias = bool | str | None


class Following(str):
    """A word that follows an option: its value if the option has one, else somebody else's."""

    __slots__ = ()


class ExtensionFlag(Record):
    """One option."""

    name: str
    kind: FlagKind
    default: FlagValue = None
    description: str = ""


def checked_flag(flag: ExtensionFlag) -> ExtensionFlag:
    """``flag``, if its default is of its own kind; ``ExtensionError`` otherwise."""
    wanted = {"boolean": bool, "string": str}.get(flag.kind)
    if wanted is None:
        raise ExtensionError(
            f"The flag --{flag.name} cannot be of the type {flag.kind!r}.",
            hint="Flags are boolean or string.",
        )
    if flag.default is not None and not isinstance(flag.default, wanted):
        raise ExtensionError(
            f"The default of --{flag.name} must be a {wanted.__name__}, not {flag.default!r}."
        )
    return flag


def flag_of(name: str, told: Mapping[str, Any]) -> ExtensionFlag:
    """An option, as a manifest describes it."""
    return ExtensionFlag(
        name=name,
        kind=told.get("type", "boolean"),
        default=told.get("default"),
        description=told.get("description", ""),
    )


def flag_value(flag: ExtensionFlag, given: Mapping[str, bool | str]) -> FlagValue:
    """What the command line says, or the default."""
    value = given.get(flag.name)
    if value is None:
        return flag.default
    if flag.kind == "boolean":
        if isinstance(value, Following):
            return True
        return value if isinstance(value, bool) else value.lower() not in ("false", "no", "0", "")
    return str(value) if isinstance(value, str) else None
