"""Every option of the command line, as data; help and completion are made from the same rows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record

Kind: TypeAlias = Literal["switch", "value", "list", "many", "optional", "pair"]
"""``list`` is comma-separated, ``many`` may be given again, ``optional`` may lack its value, and
``pair`` may have a second one."""

Completes: TypeAlias = Literal["", "file", "folder"]
"""What a shell offers for a value."""


class Flag(Record):
    """One option."""

    name: str
    group: str
    help: str
    short: str = ""
    alias: str = ""
    """Another long name, which help and completion leave out."""
    kind: Kind = "switch"
    value: str = ""
    """What the value is, as help shows it."""
    values: tuple[str, ...] = ()
    """The values that there are, if they are few."""
    completes: Completes = ""

    @property
    def field(self) -> str:
        """The name under which it is found after parsing."""
        return self.name.removeprefix("--").replace("-", "_")


MODE, MODEL, SESSION, TOOLS, RESOURCES, OTHER = (
    "How it runs",
    "Which model",
    "Which session",
    "Tools",
    "Instructions, skills, extensions, themes",
    "Trust, network, help",
)
"""The groups of the help page, in its order."""
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
MODES = ("text", "json", "rpc")
TUI_MODES = ("regular", "fullscreen")


def switch(name: str, help: str, short: str = "", *, group: str = "", alias: str = "") -> Flag:
    """A row of an option without a value."""
    return Flag(name=name, group=group, help=help, short=short, alias=alias)


def value(
    name: str,
    value: str,
    help: str,
    short: str = "",
    *,
    group: str = "",
    kind: Kind = "value",
    values: tuple[str, ...] = (),
    completes: Completes = "",
) -> Flag:
    """A row of an option with a value."""
    return Flag(
        name=name,
        group=group,
        help=help,
        short=short,
        kind=kind,
        value=value,
        values=values,
        completes=completes,
    )


_MODE = (
    switch(
        "--print", "say one thing, print the answer, and end", "-p", group=MODE, alias="--prompt"
    ),
    value("--mode", "mode", "what comes out", group=MODE, values=MODES),
    value("--tui-mode", "mode", "how the screen is used", group=MODE, values=TUI_MODES),
    switch("--verbose", "tell on standard error what was loaded", group=MODE),
)
_MODEL = (
    value("--model", "pattern", "provider/id:thinking, or a part of a name", group=MODEL),
    value("--provider", "name", "look for the model only there", group=MODEL),
    value("--api-key", "key", "a key for this run", group=MODEL),
    value("--thinking", "level", "how much the model thinks", group=MODEL, values=LEVELS),
    value("--models", "a,b", "patterns of models to switch between", group=MODEL, kind="list"),
    value("--list-models", "search", "show the models and end", group=MODEL, kind="optional"),
)
_SESSION = (
    switch("--continue", "go on with the latest session of this folder", "-c", group=SESSION),
    value(
        "--resume",
        "path|id",
        "open a session; with no match, choose one, and the value is its first prompt",
        "-r",
        group=SESSION,
        kind="optional",
    ),
    value("--session", "path|id", "go on with this session", group=SESSION, completes="file"),
    value("--session-id", "id", "go on with this session, or begin it", group=SESSION),
    value("--fork", "path|id", "go on with a copy of it", group=SESSION, completes="file"),
    value("--session-dir", "dir", "where sessions are kept", group=SESSION, completes="folder"),
    switch("--no-session", "keep nothing", group=SESSION),
    value("--name", "name", "what the session is called", "-n", group=SESSION),
    value(
        "--export",
        "in [out]",
        "write a session file as a web page, and end",
        group=SESSION,
        kind="pair",
        completes="file",
    ),
)
_TOOLS = (
    value("--tools", "a,b", "only these tools", "-t", group=TOOLS, kind="list"),
    value("--exclude-tools", "a,b", "not these tools", "-xt", group=TOOLS, kind="list"),
    switch("--no-builtin-tools", "none of the built-in tools", "-nbt", group=TOOLS),
    switch("--no-tools", "no tools at all", "-nt", group=TOOLS),
)


def _path(name: str, help: str, short: str = "") -> Flag:
    return value(name, "path", help, short, group=RESOURCES, kind="many", completes="file")


_RESOURCES = (
    value(
        "--system-prompt",
        "text|file",
        "in place of the usual instructions",
        group=RESOURCES,
        completes="file",
    ),
    value(
        "--append-system-prompt",
        "text|file",
        "in addition to the instructions; may be given again",
        group=RESOURCES,
        kind="many",
        completes="file",
    ),
    switch("--no-context-files", "read no AGENTS.md or CLAUDE.md", "-nc", group=RESOURCES),
    _path("--skill", "load skills; may be given again"),
    switch("--no-skills", "only those given with --skill", "-ns", group=RESOURCES),
    _path("--prompt-template", "load prompt templates; may be given again"),
    switch("--no-prompt-templates", "only those that are given", "-np", group=RESOURCES),
    _path("--extension", "load an extension; may be given again", "-e"),
    switch("--no-extensions", "only those given with -e", "-ne", group=RESOURCES),
    _path("--theme", "load a theme; may be given again"),
    switch("--no-themes", "only those given with --theme", group=RESOURCES),
    value("--use-theme", "name", "the theme to begin with, or light/dark", group=RESOURCES),
)
_OTHER = (
    switch("--approve", "trust the project for this run", "-a", group=OTHER),
    switch("--no-approve", "read nothing of the project", "-na", group=OTHER),
    switch("--offline", "ask nobody but the model", group=OTHER),
    switch("--help", "show this page", "-h", group=OTHER),
    switch("--version", "show the version", "-v", group=OTHER),
)

FLAGS: tuple[Flag, ...] = (*_MODE, *_MODEL, *_SESSION, *_TOOLS, *_RESOURCES, *_OTHER)
