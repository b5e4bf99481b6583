"""All subcommands as data, for parsing, help and completion."""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.records import Record
from pi.cli.options import FLAGS, MODEL, RESOURCES, TOOLS, Flag, switch, value

HELP = switch("--help", "show this help", "-h")
_APPROVE = (
    switch("--approve", "trust the project for this run", "-a"),
    switch("--no-approve", "ignore project resources for this run", "-na"),
)
_LOCAL = switch("--local", "use the project settings", "-l")
_BATCH_SESSION = frozenset(
    {
        "--model",
        "--thinking",
        "--tools",
        "--system-prompt",
        "--append-system-prompt",
        "--no-context-files",
        "--extension",
        "--no-extensions",
        "--approve",
        "--no-approve",
    }
)
"""Options of a session that every task of a batch gets."""
_ACP_SESSION = frozenset(
    {"--headless", "--session-dir", "--no-session", "--approve", "--no-approve", "--offline"}
)
"""Options of ``pi acp`` besides those for models, tools and resources."""
_TARGET = (
    value("--provider", "name", "provider name"),
    value("--model", "pattern", "use the provider of this model"),
)


_BATCH = (
    value("--output", "dir", "folder of results, default ./batch", "-o", completes="folder"),
    value("--workers", "n", "worker processes, default one per processor"),
    value("--per-worker", "n", "sessions at a time in each worker, default 8"),
    value("--retries", "n", "further attempts after an error, default 2"),
    value("--task-timeout", "time", "limit of an attempt, e.g. 90s, 10m, 1h"),
    value("--budget", "usd", "stop when all tasks together have cost this much"),
    value("--task-budget", "usd", "limit of each task"),
    value("--turns", "n", "limit of model requests per attempt"),
    value("--filter", "pattern", "only tasks whose id matches this regular expression"),
    value("--slice", "a:b", "only this part of the tasks"),
    value("--shuffle", "seed", "run in random order, the same for the same number"),
    value("--redo", "which", "run settled tasks again", values=("failed", "all")),
    value(
        "--isolation",
        "how",
        "copy of the folder for each task",
        values=("auto", "worktree", "copy", "none"),
    ),
    value("--ray", "address", "run on a Ray cluster; `local` starts one here"),
    value("--predictions", "file", "write the patches in the form of SWE-bench", completes="file"),
    value("--atif", "dir", "write a trajectory for each task", completes="folder"),
    switch("--dry-run", "show what would be run"),
    *(flag for flag in FLAGS if flag.name in _BATCH_SESSION),
)


_ACP = tuple(
    flag
    for flag in FLAGS
    if (flag.group in (MODEL, TOOLS, RESOURCES) or flag.name in _ACP_SESSION)
    and flag.name not in ("--list-models", "--theme", "--no-themes", "--use-theme")
)


class CommandUsage(Record):
    """One usage of a subcommand."""

    usage: str
    """The words after ``pi``."""
    help: str


class SubcommandRow(Record):
    """One subcommand."""

    name: str
    forms: tuple[CommandUsage, ...]
    flags: tuple[Flag, ...] = ()
    module: str = ""
    """Module below ``pi.cli.subcommands``, if it differs from the name."""
    distribution: str = ""
    """The distribution that has the module, which then is a full path, if it is not this one."""
    is_alias: bool = False
    """Whether it is an alias that help and completion do not list."""
    is_prompt_otherwise: bool = False
    """Whether words that are none of its actions and options make the line a prompt."""

    def takes(self, arguments: Sequence[str]) -> bool:
        """Whether the words after its name are for the subcommand."""
        if not self.is_prompt_otherwise or not arguments:
            return True
        return arguments[0].startswith("-") or arguments[0] in self.actions

    @property
    def actions(self) -> tuple[str, ...]:
        """Return the fixed words that can follow the name."""
        seconds = [form.usage.split()[1] for form in self.forms if " " in form.usage]
        fixed = (second for second in seconds if second[0].isalpha())
        return tuple(word for second in fixed for word in second.split("|"))


def _command(
    name: str,
    *forms: tuple[str, str],
    flags: tuple[Flag, ...] = (),
    module: str = "",
    distribution: str = "",
) -> SubcommandRow:
    rows = tuple(CommandUsage(usage=usage, help=help) for usage, help in forms)
    return SubcommandRow(
        name=name, forms=rows, flags=(*flags, HELP), module=module, distribution=distribution
    )


_PACKAGES = "packages"

COMMANDS: tuple[SubcommandRow, ...] = (
    _command(
        "models",
        ("models [search]", "list available models"),
        ("models pull", "download the embedded model (no key needed)"),
        ("models use <server>", "use a model server on this machine: ollama, vllm, …"),
    ),
    _command(
        "sessions",
        ("sessions [search]", "list the sessions of this folder"),
        ("sessions rename <id> <name>", "rename a session"),
        ("sessions move <id> <folder>", "move a session to another folder"),
        ("sessions delete <id>", "move a session to the trash"),
        ("sessions export <id> [out]", "export as .html, .md, .txt, .jsonl or .atif.json"),
        ("sessions import <file>", "import a session file, or a trajectory (.atif.json)"),
        flags=(
            switch("--all", "list sessions of all folders"),
            switch("--texts", "search in message texts"),
            switch("--json", "print one JSON object per line"),
            value(
                "--format",
                "form",
                "form of an export or import",
                values=("html", "md", "txt", "jsonl", "atif"),
            ),
            value("--out", "file", "the file of an export", completes="file"),
            value("--session-dir", "dir", "session directory", completes="folder"),
        ),
    ),
    _command(
        "import",
        ("import claude|codex", "import the histories of this folder as sessions"),
        flags=(
            switch("--all", "import the histories of all folders"),
            value("--session-dir", "dir", "session directory", completes="folder"),
        ),
        module="histories",
    ),
    _command(
        "auth",
        ("auth check", "print the status: ready, not_ready or invalid"),
        ("auth print-api-key", "print the API key"),
        ("auth print-bearer-token", "print the access token of a login"),
        ("auth login [provider]", "log in or store an API key"),
        ("auth logout <provider>", "remove stored credentials"),
        flags=(
            *_TARGET,
            switch("--json", "check: print JSON"),
            switch("--credentials", "check: also print the source"),
            switch("--no-refresh", "check: no network requests"),
            value("--min-expiry", "time", "print: minimum remaining lifetime, e.g. 30s, 5m, 1h"),
            switch("--api-key", "login: store an API key instead of logging in"),
            switch("--key", "login: the same as --api-key"),
            switch("--no-browser", "login: print the address; pi never opens a browser itself"),
        ),
    ),
    SubcommandRow(
        name="extensions",
        forms=(
            CommandUsage(usage="extensions list", help="list batteries and other extensions"),
            CommandUsage(usage="extensions on <name> [value]", help="switch one on"),
            CommandUsage(usage="extensions off <name>", help="switch one off"),
        ),
        flags=(switch("--json", "print JSON"), HELP),
        is_prompt_otherwise=True,
    ),
    _command("doctor", ("doctor", "check the installation")),
    _command(
        "acp", ("acp [options]", "serve an editor over the Agent Client Protocol"), flags=_ACP
    ),
    _command(
        "batch",
        ("batch <tasks.jsonl>", "run many tasks, each in a session of its own"),
        ("batch run <tasks.jsonl>", "the same"),
        ("batch resume <dir>", "continue a batch that was stopped"),
        ("batch report <dir>", "print a table and write report.html"),
        ("batch view <id>", "open the session of a task"),
        flags=_BATCH,
        module="pi.batch.command",
        distribution="pi-harness-batch",
    ),
    _command(
        "relay",
        ("relay serve", "run the relay of shared sessions"),
        flags=(
            value("--bind", "address", "HOST:PORT, PORT or a socket path; also RELAY_BIND"),
            value("--store", "dir", "keep shares in this folder", completes="folder"),
            value("--cluster", "url", "nats://…: several processes as one relay"),
            switch("--trust-proxy", "take client addresses from X-Forwarded-For"),
            value("--max-rooms", "n", "rooms in this process (10000)"),
            value("--max-guests", "n", "guests in a room (32)"),
            value("--max-connections", "n", "connections of one address (256)"),
        ),
    ),
    _command(
        "completion",
        ("completion bash|zsh|fish", "print a shell completion script"),
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
        flags=(_LOCAL, *_APPROVE, HELP),
        module=_PACKAGES,
        is_alias=True,
    ),
    _command(
        "update",
        ("update [source|self|pi]", "update pi or packages"),
        flags=(
            switch("--self", "update pi"),
            switch("--extensions", "update all packages"),
            switch("--models", "update the model list"),
            switch("--all", "everything"),
            value("--extension", "source", "update one package"),
            switch("--force", "reinstall even if up to date"),
            *_APPROVE,
        ),
        module=_PACKAGES,
    ),
    _command("list", ("list", "list packages"), flags=_APPROVE, module=_PACKAGES),
    _command(
        "setup",
        ("setup", "choose theme, approvals and batteries"),
        flags=_APPROVE,
    ),
    _command(
        "config",
        ("config", "enable or disable package resources"),
        flags=(_LOCAL, *_APPROVE),
        module=_PACKAGES,
    ),
)


def find_command(word: str) -> SubcommandRow | None:
    """Return the subcommand with this name, or ``None``."""
    return next((command for command in COMMANDS if command.name == word), None)
