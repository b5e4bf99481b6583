"""All options as data, for parsing, help and completion."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record

Kind: TypeAlias = Literal["switch", "value", "list", "many", "optional", "pair"]
"""``list`` is comma-separated, ``many`` can be repeated, ``optional`` can omit its value, ``pair``
can have a second value.
"""

Completes: TypeAlias = Literal["", "file", "folder"]
"""The kind of path that a shell completes for a value; empty for none."""


class Flag(Record):
    """One option."""

    name: str
    group: str
    help: str
    short: str = ""
    alias: str = ""
    """An alias that help and completion do not list."""
    kind: Kind = "switch"
    value: str = ""
    """The placeholder of the value in the help page."""
    values: tuple[str, ...] = ()
    """The allowed values, if they are fixed."""
    completes: Completes = ""

    @property
    def field(self) -> str:
        """The name of the parsed value."""
        return self.name.removeprefix("--").replace("-", "_")


MODE, MODEL, SESSION, TOOLS, RESOURCES, OTHER = (
    "Mode",
    "Model",
    "Session",
    "Tools",
    "Resources",
    "Other",
)
"""Group titles of the help page, in order."""
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
MODES = ("text", "json", "rpc", "acp")
TUI_MODES = ("regular", "fullscreen")
BATTERIES = ("recommended", "none")


def switch(name: str, help: str, short: str = "", *, group: str = "", alias: str = "") -> Flag:
    """Return the row of an option without a value."""
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
    """Return the row of an option with a value."""
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
        "--print", "print the answer to one prompt and exit", "-p", group=MODE, alias="--prompt"
    ),
    value("--mode", "mode", "output format", group=MODE, values=MODES),
    value(
        "--json-schema",
        "file",
        "print and JSON mode: the last answer is JSON that matches this schema",
        group=MODE,
        completes="file",
    ),
    switch(
        "--headless",
        "RPC and ACP: tell the model that no user can answer, as in print mode",
        group=MODE,
    ),
    value("--tui-mode", "mode", "screen mode", group=MODE, values=TUI_MODES),
    switch("--screen-reader", "write plain lines without redrawing", group=MODE),
    switch("--verbose", "print what was loaded to standard error", group=MODE),
)
_MODEL = (
    value("--model", "pattern", "provider/id:thinking, or part of a name", group=MODEL),
    value("--provider", "name", "only match models of this provider", group=MODEL),
    value("--api-key", "key", "API key for this run", group=MODEL),
    value("--thinking", "level", "thinking level", group=MODEL, values=LEVELS),
    value("--models", "a,b", "patterns of models to cycle through", group=MODEL, kind="list"),
    value("--list-models", "search", "list models and exit", group=MODEL, kind="optional"),
    switch(
        "--allow-custom-model",
        "`pi acp`: accept a model that its provider does not list",
        group=MODEL,
    ),
)
_SESSION = (
    switch(
        "--continue",
        "continue this terminal's last session here, else the latest",
        "-c",
        group=SESSION,
    ),
    value(
        "--resume",
        "path|id",
        "resume a session; without a match, pick one and send the value as prompt",
        "-r",
        group=SESSION,
        kind="optional",
    ),
    value("--session", "path|id", "open this session", group=SESSION, completes="file"),
    value("--session-id", "id", "use this session id, create it if missing", group=SESSION),
    value(
        "--fork", "path|id", "continue in a copy of this session", group=SESSION, completes="file"
    ),
    value("--session-dir", "dir", "session directory", group=SESSION, completes="folder"),
    switch("--no-session", "do not save the session", group=SESSION),
    value("--name", "name", "name of the session", "-n", group=SESSION),
    value(
        "--export",
        "in [out]",
        "export a session file and exit; the name of out sets the form",
        group=SESSION,
        kind="pair",
        completes="file",
    ),
)
_TOOLS = (
    value(
        "--tools",
        "a,b",
        "allow only these tools; +a,-b changes the active ones",
        "-t",
        group=TOOLS,
        kind="list",
    ),
    value("--exclude-tools", "a,b", "disable these tools", "-xt", group=TOOLS, kind="list"),
    switch("--no-mcp", "start no MCP servers", group=TOOLS),
    switch("--no-builtin-tools", "disable the built-in tools", "-nbt", group=TOOLS),
    switch("--no-tools", "disable all tools", "-nt", group=TOOLS),
)


def _path(name: str, help: str, short: str = "") -> Flag:
    return value(name, "path", help, short, group=RESOURCES, kind="many", completes="file")


_RESOURCES = (
    value(
        "--system-prompt",
        "text|file",
        "replace the system prompt",
        group=RESOURCES,
        completes="file",
    ),
    value(
        "--append-system-prompt",
        "text|file",
        "append to the system prompt; can be repeated",
        group=RESOURCES,
        kind="many",
        completes="file",
    ),
    switch("--no-context-files", "do not read AGENTS.md or CLAUDE.md", "-nc", group=RESOURCES),
    _path("--skill", "load skills; can be repeated"),
    switch("--no-skills", "load only skills given with --skill", "-ns", group=RESOURCES),
    _path("--prompt-template", "load prompt templates; can be repeated"),
    switch(
        "--no-prompt-templates",
        "load only prompt templates given as options",
        "-np",
        group=RESOURCES,
    ),
    _path("--extension", "load an extension; can be repeated", "-e"),
    switch(
        "--no-extensions",
        "load only extensions given with -e, and the guards that settings switch on",
        "-ne",
        group=RESOURCES,
    ),
    _path("--config", "read settings from this YAML or JSON file; can be repeated"),
    value(
        "--batteries",
        "set",
        "switch the recommended batteries on or off for this run",
        group=RESOURCES,
        values=BATTERIES,
    ),
    _path("--theme", "load a theme; can be repeated"),
    switch("--no-themes", "load only themes given with --theme", group=RESOURCES),
    value("--use-theme", "name", "theme, or a light/dark pair", group=RESOURCES),
)
_OTHER = (
    switch("--approve", "trust the project for this run", "-a", group=OTHER),
    switch("--no-approve", "ignore project resources for this run", "-na", group=OTHER),
    switch("--offline", "no network requests except to the model", group=OTHER),
    switch("--help", "show this help", "-h", group=OTHER),
    switch("--version", "show the version", "-v", group=OTHER),
)

FLAGS: tuple[Flag, ...] = (*_MODE, *_MODEL, *_SESSION, *_TOOLS, *_RESOURCES, *_OTHER)
