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


# Every ``pi <word>``, as data; dispatch, help and completion are made from the same rows.


_HELP = switch("--help", "show this page", "-h")
_APPROVE = (
    switch("--approve", "trust the project for this run", "-a"),
    switch("--no-approve", "read nothing of the project", "-na"),
)
_LOCAL = switch("--local", "in the settings of the project", "-l")
_TARGET = (
    value("--provider", "name", "whose credentials"),
    value("--model", "pattern", "those of the model's provider"),
)


class CommandUsage(Record):
    """One way to use a command."""

    usage: str
    """The words after ``pi``."""
    help: str


class SubcommandRow(Record):
    """One command."""

    name: str
    forms: tuple[CommandUsage, ...]
    flags: tuple[Flag, ...] = ()
    module: str = ""
    """Below ``pi.cli.subcommands``, if it is not called like the command."""
    is_alias: bool = False
    """Whether it is another name, which help and completion leave out."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The fixed words that can follow its name."""
        seconds = [form.usage.split()[1] for form in self.forms if " " in form.usage]
        fixed = (second for second in seconds if second[0].isalpha())
        return tuple(word for second in fixed for word in second.split("|"))


def _command(
    name: str, *forms: tuple[str, str], flags: tuple[Flag, ...] = (), module: str = ""
) -> SubcommandRow:
    rows = tuple(CommandUsage(usage=usage, help=help) for usage, help in forms)
    return SubcommandRow(name=name, forms=rows, flags=(*flags, _HELP), module=module)


_PACKAGES = "packages"

COMMANDS: tuple[SubcommandRow, ...] = (
    _command(
        "models",
        ("models [search]", "list the models that can be asked"),
        ("models pull", "fetch the embedded model, which needs no key and no network"),
        ("models use <server>", "let a server found on this machine answer: ollama, vllm, …"),
    ),
    _command(
        "sessions",
        ("sessions [search]", "list the sessions of this folder"),
        ("sessions rename <id> <name>", "give a session a name"),
        ("sessions move <id> <folder>", "have it work in another folder"),
        ("sessions delete <id>", "put a session into the trash"),
        ("sessions export <id> [out]", "write it as .html, .md, .txt or .jsonl"),
        flags=(
            switch("--all", "those of all folders"),
            switch("--texts", "search in everything that was said"),
            switch("--json", "for programs: one session per line"),
            value("--session-dir", "dir", "where sessions are kept", completes="folder"),
        ),
    ),
    _command(
        "auth",
        ("auth check", "whether there are credentials: ready, not_ready or invalid"),
        ("auth print-api-key", "print the key that requests are made with"),
        ("auth print-bearer-token", "print the token of a login"),
        ("auth login [provider]", "log in, or store a key"),
        ("auth logout <provider>", "forget what is stored"),
        flags=(
            *_TARGET,
            switch("--json", "check: for programs"),
            switch("--credentials", "check: say also where they come from"),
            switch("--no-refresh", "check: ask nobody"),
            value("--min-expiry", "time", "print: how long it must live, e.g. 30s, 5m, 1h"),
            switch("--key", "login: store a key, although there is a login"),
        ),
    ),
    _command("doctor", ("doctor", "what is set up, what is missing, and what to do")),
    _command(
        "completion",
        ("completion bash|zsh|fish", "print a script that completes commands and options"),
    ),
    _command(
        "install",
        ("install <source>", "install a package"),
        flags=(_LOCAL, *_APPROVE),
        module=_PACKAGES,
    ),
    _command(
        "remove",
        ("remove <source>", "remove a package"),
        flags=(_LOCAL, *_APPROVE),
        module=_PACKAGES,
    ),
    SubcommandRow(
        name="uninstall",
        forms=(CommandUsage(usage="uninstall <source>", help="remove a package"),),
        flags=(_LOCAL, *_APPROVE, _HELP),
        module=_PACKAGES,
        is_alias=True,
    ),
    _command(
        "update",
        ("update [source|self|pi]", "update pi or packages"),
        flags=(
            switch("--self", "pi itself"),
            switch("--extensions", "all packages"),
            switch("--models", "the list of models"),
            switch("--all", "everything"),
            value("--extension", "source", "one package"),
            switch("--force", "although it is up to date"),
            *_APPROVE,
        ),
        module=_PACKAGES,
    ),
    _command("list", ("list", "show the packages"), flags=_APPROVE, module=_PACKAGES),
    _command(
        "config",
        ("config", "choose what of the packages is used"),
        flags=(_LOCAL, *_APPROVE),
        module=_PACKAGES,
    ),
)


def find_command(word: str) -> SubcommandRow | None:
    """The command that a first word names, if it names one."""
    return next((command for command in COMMANDS if command.name == word), None)
