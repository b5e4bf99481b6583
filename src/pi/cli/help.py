"""The help pages, generated from the tables of options and subcommands. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pi import __version__
from pi.cli.options import COMMANDS, FLAGS, Flag, SubcommandRow

if TYPE_CHECKING:  # most pages have none
    from pi.coding.extension_host.discovery.manifest import Subcommand

LEFT = 32
"""Width of the left column; a description that does not fit is printed below."""
NARROW = 60

EXAMPLES = (
    ('pi -p "why does this fail?"', "print the answer to one prompt"),
    ('git diff | pi -p "review this"', "send piped text before the prompt"),
    ('pi -p @error.log "explain this"', "attach a file or an image"),
    ('pi -p -c "and now fix it"', "continue this terminal's last session"),
    ("pi --mode rpc", "for programs: JSON requests and events"),
)
VARIABLES = (
    ("PI_CODING_AGENT_DIR", "settings, credentials, sessions; usually ~/.pi/agent"),
    ("PI_CODING_AGENT_SESSION_DIR", "session directory"),
    ("PI_OFFLINE=1", "as --offline"),
    ("PI_NO_LOCAL=1", "never download the embedded model"),
    ("PI_SKIP_VERSION_CHECK=1", "do not check for a newer version"),
    ("PI_DEBUG=1", "show tracebacks"),
)
EXIT_CODES = (
    ("0", "done"),
    ("1", "failure: the last answer is an error, or the session did not start"),
    ("2", "auth check: the credentials are invalid"),
    ("129, 130, 143", "terminated by SIGHUP, SIGINT (Ctrl+C), SIGTERM"),
)


def main_help(
    width: int,
    extension_flags: Sequence[Flag] = (),
    extension_commands: Mapping[str, Subcommand] | None = None,
) -> str:
    """Returns the page of ``pi --help``."""
    lines = [
        f"pi {__version__}: a coding agent for the terminal",
        "",
        "  pi [options] [--] [@files…] [messages…]",
        "  pi <command> …",
        "",
        "Without -p or --mode, pi is interactive if input and output are a terminal.",
    ]
    forms = [
        (form.usage, form.help)
        for command in COMMANDS
        if not command.is_alias
        for form in command.forms
    ]
    forms += (
        (f"{name} {row.usage}".rstrip(), row.help)
        for name, row in (extension_commands or {}).items()
    )
    lines += _section("Commands", forms, width)
    flags = (*FLAGS, *extension_flags)
    for group in dict.fromkeys(flag.group for flag in flags):
        lines += _section(group, _rows(flag for flag in flags if flag.group == group), width)
    lines += _section("Examples", EXAMPLES, width)
    lines += _section("Environment", VARIABLES, width)
    lines += _section("Exit codes", EXIT_CODES, width)
    return "".join(f"{line}\n" for line in lines)


def command_help(command: SubcommandRow, width: int) -> str:
    """Returns the page of ``pi <command> --help``."""
    lines = ["Usage", *_columns([(f"pi {form.usage}", form.help) for form in command.forms], width)]
    lines += _section("Options", _rows(command.flags), width)
    return "".join(f"{line}\n" for line in lines)


def typed(flag: Flag) -> str:
    """An option as typed: ``-n, --name <name>``."""
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
    """Formats two columns.

    If the terminal is narrow or the left side long, the right one goes below.
    """
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
    # Not textwrap: importing it takes longer than everything else for this page.
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
