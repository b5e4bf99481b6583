"""The manifest of an extension (``pi.toml``, ``[tool.pi]`` or a comment): triggers and flags.

A single file has its manifest in a block of comments, in the form of PEP 723::

    # /// pi
    # api = 1
    # activate = ["command:weather"]
    # commands = { weather = "show the weather" }
    # ///
"""

# Without `from __future__ import annotations`: every start decodes these records, and msgspec
# has to compile each annotation that is a string.

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import field

from pi.base.files import open_regular, read_regular
from pi.base.formats import BadFormat, parse_toml
from pi.base.records import Record, replace
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.resources.tolerant_files import is_file
from pi.coding.settings.layers import value_at

if TYPE_CHECKING:
    from pi.coding.port.ui import Mode


_MAJOR, _MINOR = 1, 2
API_VERSION = f"{_MAJOR}.{_MINOR}"
"""The version of the extension API.

The first number is raised with every incompatible change of the API, the second with additions.
"""
SUPPORTED_APIS = frozenset(
    {_MAJOR, str(_MAJOR), *(f"{_MAJOR}.{minor}" for minor in range(_MINOR + 1))}
)
"""The values of ``api`` in manifests that this version supports."""

FILE = "pi.toml"
_BLOCK = r"(?m)^# /// pi\s*$\n(?P<body>(?:^#(?: .*)?$\n)+?)^# ///\s*$"
MAX_HEAD = 4096
"""Characters at the start of a file in which its manifest must begin."""

ALWAYS = ("startup", "session")
"""Triggers without a name."""
_ALWAYS = frozenset(ALWAYS)
DEFERRABLE = "deferrable"
"""Trigger of extensions that resolve pending actions."""
NAMED = (
    *(
        "command",
        "event",
        "tool",
        "flag",
        "entry",
        "setting",
        "selected",
        "mode",
        "file",
        "env",
        "shared",
        "view",
    ),
    "strategy",
)
"""Triggers with a name: ``command:weather``."""


class ToolManifest(Record, rename=None):
    """A tool that is declared to models before the extension is loaded."""

    description: str
    """The description for the model."""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of its arguments."""
    snippet: str = ""
    """One line for the system prompt."""
    guidelines: tuple[str, ...] = ()
    """Lines of the system prompt about its use."""
    exposure: Literal["active", "deferred", "on_demand", "hidden", "unlisted", "resolver"] = (
        "active"
    )
    """As ``exposure`` of ``pi.add_tool``."""
    approval: Literal["read", "write", "exec"] = "exec"
    """What a call may do, for permission guards, until the extension is loaded."""
    strict: bool | None = None
    """Whether providers that can should enforce the schema."""
    deferrable: bool = False
    """Whether calls may leave pending actions."""


class Subcommand(Record, rename=None):
    """``pi name …``: starts a session and runs the command ``/name …`` in it."""

    help: str = ""
    """A description in one line."""
    usage: str = ""
    """Its arguments, e.g. ``<link>``, for help pages."""
    mode: Literal["", "print"] = ""
    """``print`` to run without the terminal UI, even in a terminal."""
    flags: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Its own options, declared like the flags of an extension; ``ctx.flags`` has their values."""
    raw: bool = False
    """Whether the command gets all words as they are, options included; ``flags`` are for help and
    completion."""
    session: bool | Literal["continue"] = True
    """Whether it needs a session; ``continue``: the last one of the folder, as with ``-c``.

    If False, no session file is written, no trust is requested, no input is read, no model is
    needed, the project is not read, and the command runs in print mode.
    """


class Manifest(Record, rename=None):
    """The manifest of an extension; all fields are optional.

    An extension without a manifest is loaded with every session.
    """

    api: int | str = 1
    """The version of the API that it needs: ``1``, or ``"1.1"`` for the additions of 1.1."""
    name: str = ""
    description: str = ""
    """A description in one line, for ``/extensions``."""
    benefit: str = ""
    """What the user gets, in two or three plain words, for the setup of a new home."""
    model_tools: tuple[str, ...] = ()
    """Tools that its code registers, for ``/extensions`` while it is not loaded."""
    request_tokens: int | None = None
    """About how many tokens it adds to each request, for ``/extensions``."""
    commands: dict[str, str] = field(default_factory=dict)
    """Commands with their descriptions."""
    flags: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Options of the command line: ``type``, ``default`` and ``description`` by name."""
    subcommands: dict[str, Subcommand] = field(default_factory=dict)
    """Subcommands of the command line, ``pi name …``, by name."""
    needs_run_here: tuple[str, ...] = ()
    """Commands that need a session that runs in this process, not one that is only shown."""
    enabling_commands: tuple[str, ...] = ()
    """Commands that switch the extension on for the session when they are typed: its setting gets
    the value that ``/extensions on`` would store.
    """
    tools: dict[str, ToolManifest] = field(default_factory=dict)
    """Tools by name, as they are declared to models before the extension is loaded."""
    activate: tuple[str, ...] = ("session",)
    """Triggers: each of them loads the extension.

    ``startup``, ``session``: every session. ``flag:x``: the command line has ``--x``. ``mode:x``:
    pi runs as ``interactive``, ``print``, ``json`` or ``rpc``. ``entry:x``: the opened session has
    a custom entry of that type. ``setting:a.b``: the setting is neither ``null`` nor ``false``.
    ``selected:x``: ``--tools`` or the setting ``defaultTools`` names the tool.
    ``command:x``: ``/x`` is typed. ``event:x``: the event is emitted. ``tool:x``: the tool is
    called. ``file:x``: the file exists in the project, if it is trusted, or at ``~/x``, where
    ``~/.pi/agent`` is the agent directory. ``env:X``: the variable is not empty. ``shared:x``:
    ``pi.shared`` has an object with that key, stored before ``/new``. ``deferrable``: another
    extension has a tool that may leave pending actions. ``view:x``: a view that ``views`` declares
    is drawn; this does not load the extension. ``strategy:x``: ``compaction.strategy`` is ``x``,
    or ``/compact strategy:x`` is typed.
    """
    views: dict[str, str] = field(default_factory=dict)
    """Views by kind and name, such as ``code:dot``, with ``package.module:function``.

    The module is imported when a view is first drawn; the extension is not loaded.
    """
    strategies: dict[str, str] = field(default_factory=dict)
    """Compaction strategies with their descriptions, for ``/settings`` and ``/compact``."""
    gates: tuple[str, ...] = ()
    """Files of a project that the extension reads, relative to the project's directory.

    While the extension is enabled, a project that contains one of them needs trust.
    """
    recommended: dict[str, Any] = field(default_factory=dict)
    """Of a battery: settings by dotted name that ``batteries: "recommended"`` adds.

    They are defaults: the files of the user and of the project override them.
    """
    extras: tuple[str, ...] = ()
    """Extras of its distribution that the extension needs.

    While one is not installed, its ``recommended`` settings and ``views`` are left out.
    """
    secrets: tuple[str, ...] = ()
    """Environment variables with credentials: hidden from commands, redacted in exports."""
    doctor: bool = False
    """Whether ``pi doctor`` loads the extension for its checks, if it is enabled."""
    redacts: bool = False
    """Of a battery: whether exports without a session (``pi --export``) load it for its redactors,
    if a setting enables it.
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
        commands = {name.removeprefix("/"): text for name, text in self.commands.items()}
        for name in self.triggers("command"):
            commands.setdefault(name.removeprefix("/"), "")
        return commands

    def triggers(self, kind: str) -> tuple[str, ...]:
        """The names of all triggers of one kind."""
        return _names_by_kind(self.activate).get(kind, ())


@cache  # called about fifteen times for each battery at every start
def _names_by_kind(triggers: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    names_by_kind: dict[str, tuple[str, ...]] = {}
    for trigger in triggers:
        kind, _, name = trigger.partition(":")
        if name:
            names_by_kind[kind] = (*names_by_kind.get(kind, ()), name)
    return names_by_kind


def read_manifest(path: Path) -> Manifest:
    """The manifest of an extension file or folder, or of a file ``pi.toml``; empty if it has none.

    Raises ``ExtensionError`` if the manifest is invalid.
    """
    if path.name == FILE:
        file_and_table: tuple[Path, dict[str, Any]] | None = (path, _parse_table(_read(path), path))
    else:
        file_and_table = _folder_manifest(path) if path.is_dir() else _read_block(path)
    if file_and_table is None:
        return Manifest()
    file, table = file_and_table
    try:
        manifest = msgspec.convert(table, Manifest)
    except msgspec.ValidationError as error:
        raise ExtensionError(f"The manifest in {file} is invalid: {error}") from error
    for trigger in manifest.activate:
        _check_trigger(trigger, file)
    for name in manifest.gates:
        if not name or Path(name).is_absolute() or ".." in Path(name).parts:
            raise ExtensionError(
                f"Invalid gate {name!r} in the manifest of {file}.",
                hint="Name a file below the project's directory, like .mcp.json.",
            )
    return manifest


def _check_trigger(trigger: str, file: Path) -> None:
    kind, _, name = trigger.partition(":")
    if trigger not in (*ALWAYS, DEFERRABLE) and not (kind in NAMED and name):
        forms = (*ALWAYS, DEFERRABLE, *(f"{named}:…" for named in NAMED))
        raise ExtensionError(
            f"Unknown trigger {trigger!r} in the manifest of {file}.",
            hint=f"Use one of {', '.join(forms)}.",
        )


def _folder_manifest(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    own, project = folder / FILE, folder / "pyproject.toml"
    if is_file(own):
        return own, _parse_table(_read(own), own)
    if is_file(project):
        tool = _parse_table(_read(project), project).get("tool")
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


def _read_block(path: Path) -> tuple[Path, dict[str, Any]] | None:
    begin = _read(path, MAX_HEAD)
    if "# /// pi" not in begin or (match := re.search(_BLOCK, begin)) is None:
        return None
    lines = (line[2:] for line in match["body"].splitlines())
    return path, _parse_table("\n".join(lines), path)


def _parse_table(text: str, path: Path) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except BadFormat as error:
        raise ExtensionError(f"The manifest in {path} {error.message}") from error


_SEEN = ("event", "tool")
"""Triggers that need a stand-in from the start."""

INTERACTIVE: "Mode" = "tui"
"""The API's name of the mode that manifests call ``interactive``."""


def supports_mode(manifest: Manifest, mode: "Mode") -> bool:
    """Whether an extension supports the mode."""
    return not manifest.modes or mode in _api_modes(manifest.modes)


def loads_at_start(manifest: Manifest, flags: Mapping[str, bool | str], mode: "Mode") -> bool:
    """Whether an extension is loaded before the session exists."""
    if not manifest.activate or not _ALWAYS.isdisjoint(manifest.activate):
        return True
    modes = _api_modes(manifest.triggers("mode"))
    return mode in modes or any(name in flags for name in manifest.triggers("flag"))


def can_defer_all(
    manifests: Iterable[Manifest], flags: Mapping[str, bool | str], mode: "Mode"
) -> bool:
    """Whether no extension needs a stand-in before a command is typed or a session begins."""
    return all(can_defer(manifest, flags, mode) for manifest in manifests)


def can_defer(manifest: Manifest, flags: Mapping[str, bool | str], mode: "Mode") -> bool:
    """Whether the extension needs no stand-in before a command is typed or a session begins."""
    if not supports_mode(manifest, mode):
        return True
    if manifest.tools:
        return False
    needed = not _names_by_kind(manifest.activate).keys().isdisjoint(_SEEN)
    return not needed and not loads_at_start(manifest, flags, mode)


LoadingTime: TypeAlias = Literal["never", "start", "first use", "trigger"]
"""When an extension is loaded.

``first use``: when one of its stand-ins is used. ``trigger``: only when one of its commands is
typed, or when the state of the session contains one of its triggers; both load ``first use``
extensions as well.
"""


def loading_times(
    manifests: Iterable[Manifest], flags: Mapping[str, bool | str], mode: "Mode"
) -> list[LoadingTime]:
    """The loading time of each manifest."""
    return [_loading_time(manifest, flags, mode) for manifest in manifests]


def _loading_time(manifest: Manifest, flags: Mapping[str, bool | str], mode: "Mode") -> LoadingTime:
    if not supports_mode(manifest, mode):
        return "never"
    if loads_at_start(manifest, flags, mode):
        return "start"
    kinds = {trigger.partition(":")[0] for trigger in manifest.activate}
    if not kinds.isdisjoint(_SEEN) or manifest.tools:
        return "first use"
    return "trigger"


class ActivationState(Record):
    """The state on which triggers depend, besides events and uses."""

    cwd: Path
    home: Path
    agent_dir: Path
    environ: Mapping[str, str]
    settings: Mapping[str, Any]
    """The merged settings."""
    entry_types: Collection[str] = ()
    """Types of the custom entries of the opened session."""
    shared: frozenset[str] = frozenset()
    """Keys of the objects of ``pi.shared``."""
    selected: frozenset[str] = frozenset()
    """Tools that the user selected by name."""
    uses_project: Callable[[], bool] = lambda: False
    """Whether files of the project count: it is trusted, or has no files that need trust.

    Called only if the file of a trigger exists, because it searches for files.
    """


_STRATEGY = ("compaction", "strategy")


def depends_on_session(manifest: Manifest) -> bool:
    """Whether a trigger depends on the session, settings, files or variables."""
    return not _names_by_kind(manifest.activate).keys().isdisjoint(_OCCURS)


def is_triggered(manifest: Manifest, state: ActivationState) -> bool:
    """Whether the state contains a trigger of the extension."""
    kinds = _names_by_kind(manifest.activate)
    if _is_switched_off(kinds, state.settings):
        kinds = {kind: names for kind, names in kinds.items() if kind not in _OVERRULED}
    return any(kind in _OCCURS and _OCCURS[kind](names, state) for kind, names in kinds.items())


def overrules_entries(manifest: Manifest, state: ActivationState) -> bool:
    """Whether the session has used an extension that the settings switch off now."""
    entries = manifest.triggers("entry")
    if not entries or set(entries).isdisjoint(state.entry_types):
        return False
    return _is_switched_off(_names_by_kind(manifest.activate), state.settings)


_OVERRULED = frozenset({"setting", "file", "entry"})
"""Triggers that do not count while the switch of the extension is off: ``mcp.enabled: false`` wins
over ``mcp.servers`` and over an ``mcp.json``, ``task.enabled: false`` over earlier sub-agents."""


def _is_switched_off(kinds: Mapping[str, Sequence[str]], settings: Mapping[str, Any]) -> bool:
    """Whether the user has set ``x.enabled`` of the extension to false."""
    switch = next(iter(kinds.get("setting", ())), "")
    return switch.endswith(".enabled") and value_at(settings, switch.split(".")) is False


_OCCURS: dict[str, Callable[[tuple[str, ...], ActivationState], bool]] = {
    "setting": lambda names, state: _any_set(state.settings, names),
    "env": lambda names, state: any(map(state.environ.get, names)),
    "selected": lambda names, state: not state.selected.isdisjoint(names),
    "file": lambda names, state: any(_file_exists(name, state) for name in names),
    "strategy": lambda names, state: value_at(state.settings, _STRATEGY) in names,
    "shared": lambda names, state: not state.shared.isdisjoint(names),
    "entry": lambda names, state: not set(names).isdisjoint(state.entry_types),
}
"""By kind of trigger: whether the state contains one of the names. A table, because every start
checks every battery, and most have one or two kinds."""


def triggered(manifests: Mapping[str, Manifest], state: ActivationState) -> list[str]:
    """The keys of the manifests that have a trigger in the state."""
    return [key for key, manifest in manifests.items() if is_triggered(manifest, state)]


def active_gates(
    manifests: Iterable[Manifest],
    state: ActivationState,
    flags: Mapping[str, bool | str],
    mode: "Mode",
) -> tuple[str, ...]:
    """The gates of the enabled extensions; opens no file."""
    # Trust is not decided yet, so a file that enables an extension counts by its name.
    state = replace(state, uses_project=lambda: True)
    gates = (
        name
        for manifest in manifests
        if manifest.gates and supports_mode(manifest, mode)
        if loads_at_start(manifest, flags, mode) or is_triggered(manifest, state)
        for name in manifest.gates
    )
    return tuple(dict.fromkeys(gates))


def is_enabled(manifest: Manifest, settings: Mapping[str, Any]) -> bool:
    """Whether a setting enables the extension."""
    return settings.get("batteries") == "recommended" or _any_set(
        settings, manifest.triggers("setting")
    )


def _api_modes(modes: Iterable[str]) -> list[str]:
    """Modes of a manifest with their names in the API."""
    return [INTERACTIVE if mode == "interactive" else mode for mode in modes]


def _any_set(settings: Mapping[str, Any], names: Iterable[str]) -> bool:
    values = (value_at(settings, name.split(".")) for name in names)
    return any(value is not None and value is not False for value in values)


_AGENT_DIR = "~/.pi/agent/"


def _file_exists(name: str, state: ActivationState) -> bool:
    if name.startswith(_AGENT_DIR):  # PI_CODING_AGENT_DIR may move it
        path = os.path.join(state.agent_dir, name.removeprefix(_AGENT_DIR))  # noqa: PTH118
    elif name.startswith("~/"):
        path = os.path.join(state.home, name[2:])  # noqa: PTH118
    else:
        path = os.path.join(state.cwd, name)  # noqa: PTH118 - many at every start
        return os.path.lexists(path) and state.uses_project()
    return os.path.lexists(path)
