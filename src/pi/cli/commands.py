"""Every ``pi <word>``, as data; dispatch, help and completion are made from the same rows."""

from __future__ import annotations

from pi.base.records import Record
from pi.cli.flags import Flag, switch, value

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


class Form(Record):
    """One way to use a command."""

    usage: str
    """The words after ``pi``."""
    help: str


class Command(Record):
    """One command."""

    name: str
    forms: tuple[Form, ...]
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
) -> Command:
    rows = tuple(Form(usage=usage, help=help) for usage, help in forms)
    return Command(name=name, forms=rows, flags=(*flags, _HELP), module=module)


_PACKAGES = "packages"

COMMANDS: tuple[Command, ...] = (
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
    Command(
        name="uninstall",
        forms=(Form(usage="uninstall <source>", help="remove a package"),),
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


def find_command(word: str) -> Command | None:
    """The command that a first word names, if it names one."""
    return next((command for command in COMMANDS if command.name == word), None)
