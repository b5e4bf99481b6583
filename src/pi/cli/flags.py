"""Every option of the command line, as data; help and completion are made from the same rows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record

Kind: TypeAlias = Literal["switch", "value", "list", "many", "optional"]
"""``list`` is comma-separated, ``many`` may be given again, ``optional`` may lack its value."""


class Flag(Record):
    """One option."""

    name: str
    group: str
    help: str
    short: str = ""
    kind: Kind = "switch"
    value: str = ""
    """What the value is, as help shows it."""
    values: tuple[str, ...] = ()
    """The values that there are, if they are few."""

    @property
    def field(self) -> str:
        """The name under which it is found after parsing."""
        return self.name.removeprefix("--").replace("-", "_")


MODEL, SESSION, TOOLS, RESOURCES, MODE, OTHER = (
    "model",
    "session",
    "tools",
    "resources",
    "mode",
    "other",
)
LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


def _switch(name: str, group: str, help: str, short: str = "") -> Flag:
    return Flag(name=name, group=group, help=help, short=short)


def _value(
    name: str,
    group: str,
    value: str,
    help: str,
    short: str = "",
    *,
    kind: Kind = "value",
    values: tuple[str, ...] = (),
) -> Flag:
    return Flag(
        name=name, group=group, help=help, short=short, kind=kind, value=value, values=values
    )


FLAGS: tuple[Flag, ...] = (
    _switch("--print", MODE, "say one thing, print the answer, and end", "-p"),
    _value("--mode", MODE, "mode", "what comes out", values=("text", "json", "rpc")),
    _value("--tui-mode", MODE, "mode", "how the screen is used", values=("regular", "fullscreen")),
    _switch("--verbose", MODE, "show everything that was loaded"),
    _value("--model", MODEL, "pattern", "provider/id:thinking, or a part of its name"),
    _value("--provider", MODEL, "name", "look for the model only there"),
    _value("--api-key", MODEL, "key", "a key for this run"),
    _value("--thinking", MODEL, "level", "how much the model thinks", values=LEVELS),
    _value("--models", MODEL, "patterns", "models to switch between", kind="list"),
    _value("--list-models", MODEL, "search", "show the models and end", kind="optional"),
    _switch("--continue", SESSION, "go on with the latest session of this folder", "-c"),
    _switch("--resume", SESSION, "choose a session to go on with", "-r"),
    _value("--session", SESSION, "path|id", "go on with this session"),
    _value("--session-id", SESSION, "id", "go on with this session, or begin it"),
    _value("--fork", SESSION, "path|id", "go on with a copy of this session"),
    _value("--session-dir", SESSION, "folder", "where sessions are kept"),
    _switch("--no-session", SESSION, "keep nothing"),
    _value("--name", SESSION, "name", "what the session is called", "-n"),
    _value("--export", SESSION, "in [out]", "write a session as a web page, and end"),
    _value("--tools", TOOLS, "names", "only these tools", "-t", kind="list"),
    _value("--exclude-tools", TOOLS, "names", "not these tools", "-xt", kind="list"),
    _switch("--no-builtin-tools", TOOLS, "none of the built-in tools", "-nbt"),
    _switch("--no-tools", TOOLS, "no tools at all", "-nt"),
    _value("--extension", RESOURCES, "path", "load an extension", "-e", kind="many"),
    _switch("--no-extensions", RESOURCES, "only those given with -e", "-ne"),
    _value("--skill", RESOURCES, "path", "load skills", kind="many"),
    _switch("--no-skills", RESOURCES, "only those given with --skill", "-ns"),
    _value("--prompt-template", RESOURCES, "path", "load prompt templates", kind="many"),
    _switch("--no-prompt-templates", RESOURCES, "only those that are given", "-np"),
    _value("--theme", RESOURCES, "path", "load a theme", kind="many"),
    _switch("--no-themes", RESOURCES, "only those given with --theme"),
    _value("--use-theme", RESOURCES, "name", "the theme to begin with, or light/dark"),
    _switch("--no-context-files", RESOURCES, "read no AGENTS.md or CLAUDE.md", "-nc"),
    _value("--system-prompt", RESOURCES, "text|file", "in place of the usual prompt"),
    _value("--append-system-prompt", RESOURCES, "text|file", "added to the prompt", kind="many"),
    _switch("--approve", OTHER, "trust the project for this run", "-a"),
    _switch("--no-approve", OTHER, "read nothing of the project", "-na"),
    _switch("--offline", OTHER, "ask nobody but the model"),
    _switch("--help", OTHER, "show this page", "-h"),
    _switch("--version", OTHER, "show the version", "-v"),
)
