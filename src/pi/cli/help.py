"""The help pages, made from the rows of options and commands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pi import __version__
from pi.cli.options import COMMANDS, FLAGS, Flag, SubcommandRow

if TYPE_CHECKING:  # most pages have none
    from pi.coding.extension_host.discovery.manifest import Subcommand

LEFT = 32
"""Columns of what is typed; what it does stands beside it, or below if there is no room."""
NARROW = 60

EXAMPLES = (
    ('pi -p "why does this fail?"', "ask once, print the answer"),
    ('git diff | pi -p "review this"', "what is piped comes before the words"),
    ('pi -p @error.log "explain this"', "with a file, which may be a picture"),
    ('pi -p -c "and now fix it"', "go on with the session that was used last"),
    ("pi --mode rpc", "for programs: requests in, events out"),
)
VARIABLES = (
    ("PI_CODING_AGENT_DIR", "settings, credentials, sessions; usually ~/.pi/agent"),
    ("PI_CODING_AGENT_SESSION_DIR", "sessions alone"),
    ("PI_OFFLINE=1", "as --offline"),
    ("PI_NO_LOCAL=1", "never fetch the embedded model for want of a key"),
    ("PI_SKIP_VERSION_CHECK=1", "do not look for a newer version"),
    ("PI_DEBUG=1", "show where an error comes from"),
)
EXIT_CODES = (
    ("0", "done"),
    ("1", "it failed: the last answer is an error, or it could not begin"),
    ("2", "auth check: the credentials cannot be used"),
    ("129, 130, 143", "ended by SIGHUP, SIGINT (Ctrl+C), SIGTERM"),
)


def main_help(
    width: int,
    extension_flags: Sequence[Flag] = (),
    extension_commands: Mapping[str, Subcommand] | None = None,
) -> str:
    """The page of ``pi --help``."""
    lines = [
        f"pi {__version__}: a coding agent for the terminal",
        "",
        "  pi [options] [--] [@files…] [messages…]",
        "  pi <command> …",
        "",
        "Without -p or --mode, and with a terminal on both sides, pi is interactive.",
    ]
    forms = [
        (form.usage, form.help)
        for command in COMMANDS
        if not command.is_alias
        for form in command.forms
    ]
    forms += ((name, told.help) for name, told in (extension_commands or {}).items())
    lines += _section("Commands", forms, width)
    flags = (*FLAGS, *extension_flags)
    for group in dict.fromkeys(flag.group for flag in flags):
        lines += _section(group, _rows(flag for flag in flags if flag.group == group), width)
    lines += _section("Examples", EXAMPLES, width)
    lines += _section("Environment", VARIABLES, width)
    lines += _section("Exit codes", EXIT_CODES, width)
    return "".join(f"{line}\n" for line in lines)


def command_help(command: SubcommandRow, width: int) -> str:
    """The page of ``pi <command> --help``."""
    lines = ["Usage", *_columns([(f"pi {form.usage}", form.help) for form in command.forms], width)]
    lines += _section("Options", _rows(command.flags), width)
    return "".join(f"{line}\n" for line in lines)


def typed(flag: Flag) -> str:
    """An option as it is typed: ``-n, --name <name>``."""
    names = ", ".join(name for name in (flag.short, flag.name) if name)
    if flag.kind == "switch":
        return names
    if flag.kind == "optional":
        return f"{names} [{flag.value}]"
    first, *more = flag.value.split()
    return " ".join((names, f"<{first}>", *more))


def _rows(flags: Iterable[Flag]) -> Iterator[tuple[str, str]]:
    for flag in flags:
        values = f": {', '.join(flag.values)}" if flag.values else ""
        yield typed(flag), f"{flag.help}{values}"


def _section(title: str, rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    return ["", title, *_columns(list(rows), width)]


def _columns(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Two columns; in a narrow terminal, or beside a long left side, the right one goes below."""
    left = min(max((len(words) for words, _ in rows), default=0), LEFT) + 2
    indent = 6 if width < NARROW else left + 2
    for words, meaning in rows:
        first, *rest = _wrapped(meaning, max(width - indent, 20))
        if indent == left + 2 and len(words) <= left - 2:
            yield f"  {words:{left}}{first}"
        else:
            yield f"  {words}"
            yield " " * indent + first
        yield from (" " * indent + line for line in rest)


def _wrapped(text: str, width: int) -> list[str]:
    # Not textwrap: it costs more to import than all of this page.
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
