"""Selects the subcommand, mode or help page for a command line.

Imports inside functions are lazy on purpose: each command line pays only for what it runs.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pi.cli.arguments import (
    Arguments,
    UsageError,
    check_mode,
    chosen_mode,
    parse_arguments,
    parse_words,
)
from pi.cli.options import FLAGS, Flag
from pi.cli.subcommand_rows import COMMANDS, SubcommandRow, find_command
from pi.modes.phases import phase, ready
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.extension_host.discovery.manifest import Subcommand


_SHARED_SESSION = r"(?:join\s+)?\S*[\w-]{22}(?:\.|#|%23)(?:\d+(?:\.|#|%23))?[\w-]{43,}/?"
"""A link to a shared session: the id of a room, the version, and the secret; maybe with `join`."""


def dispatch(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command line and return its exit code. Imports only what the command needs."""
    if argv[:1] == ["acp"] and not {"-h", "--help"}.intersection(argv):
        argv = ["--mode", "acp", *argv[1:]]  # it takes the options of a session
    begins_with_word = bool(argv) and not argv[0].startswith("-")
    if begins_with_word:
        from pi.cli.first_words import expand_short_form  # lazy: scripts begin with an option

        argv = expand_short_form(argv)
    command = find_command(argv[0]) if argv else None
    if command is not None and command.takes(argv[1:]):
        return _run_command(command, argv[1:], environ)
    arguments = _parse_session(argv, environ)
    is_prompt = arguments.messages and not arguments.command
    # `pi -p login` is a prompt whatever it says.
    if is_prompt and (begins_with_word or not {"print", "mode"} & arguments.options.keys()):
        from pi.cli.first_words import reject_non_prompt

        if reject_non_prompt(argv, arguments, environ):
            return 1
    if "version" in arguments.options:
        sys.stdout.write(f"{__version__}\n")
        return 0
    if "help" in arguments.options:
        from pi.cli.extension_options import read_manifest_options

        declared = read_manifest_options(arguments, environ, Path.cwd())
        if (own := declared.subcommands.get(arguments.command)) is not None:
            from pi.cli.extension_options import subcommand_row

            sys.stdout.write(command_help(subcommand_row(arguments.command, own), _width()))
            return 0
        sys.stdout.write(main_help(_width(), declared.flags, declared.subcommands))
        return 0
    _keep_secret_links(argv, arguments)
    return _run_session(arguments, environ)


def _keep_secret_links(argv: Sequence[str], arguments: Arguments) -> None:
    """Raise ``UsageError`` if a prompt is nothing but the link to a shared session.

    The usual cause is `pi --model M join LINK`: after an option, `join` is no subcommand.
    """
    checked = argv[: argv.index("--")] if "--" in argv else argv
    if not arguments.command and any(
        word in arguments.messages and re.fullmatch(_SHARED_SESSION, word) for word in checked
    ):
        raise UsageError(
            "A link to a shared session contains a secret and is not sent to a model.",
            hint="Put options after the subcommand: `pi join LINK [options]`."
            " `pi -- LINK` sends the link as a prompt.",
        )


def _parse_session(argv: Sequence[str], environ: Mapping[str, str]) -> Arguments:
    """Parse the words of a session; the first may be a subcommand of an extension."""
    if argv and argv[0][:1].isalpha():
        from pi.cli.first_words import is_name

        if is_name(argv[0]):
            from pi.cli.extension_options import parse_extension_subcommand

            arguments = parse_extension_subcommand(argv, environ, Path.cwd())
            if arguments is not None:
                return arguments
    return parse_arguments(argv)


def _run_command(command: SubcommandRow, argv: Sequence[str], environ: Mapping[str, str]) -> int:
    arguments = parse_words(argv, command.flags, command=command.name)
    if "help" in arguments.options:
        sys.stdout.write(command_help(command, _width()))
        return 0
    with phase(f"cli:load:{command.name}"):
        module = _import_command(command)
    _collect_garbage()
    code: int = module.run(arguments, environ)
    return code


def _import_command(command: SubcommandRow) -> ModuleType:
    """Import the module of a subcommand; raises ``NotInstalled`` without its distribution."""
    if command.distribution:
        from pi.base.optional_modules import import_optional

        return import_optional(command.module, command.distribution)
    return import_module(f"pi.cli.subcommands.{command.module or command.name}")


def _run_session(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run a command line without a subcommand: usually a session."""
    if "offline" in arguments.options:
        environ = {**environ, "PI_OFFLINE": "1"}
    if arguments.unresolved_words:
        from pi.cli.extension_options import resolve_options_from_manifests

        arguments = resolve_options_from_manifests(arguments, environ, Path.cwd())
    if (search := arguments.text("list_models")) is not None:
        from pi.cli.session_setup import approval
        from pi.cli.subcommands.models import list_models

        _collect_garbage()
        return list_models(search, environ, approve=approval(arguments))
    if (paths := arguments.texts("export")) is not None:
        from pi.cli.subcommands.session_export import export

        _collect_garbage()
        return export(paths, environ)
    mode = chosen_mode(arguments, terminal=sys.stdin.isatty() and sys.stdout.isatty())
    check_mode(arguments, mode)
    if mode == "interactive":
        with phase("cli:load:interactive"):
            from pi.cli.interactive import run as run_on_screen

        return run_on_screen(arguments, environ, when_ready=_ready_on_screen)
    if mode == "acp":
        with phase("cli:load:acp"):
            from pi.cli.subcommands.acp import run as run_acp

        return run_acp(arguments, environ, when_ready=_collect_garbage)
    with phase(f"cli:load:{mode}"):
        from pi.cli.headless import run

    return run(arguments, environ, mode=mode, when_ready=_collect_garbage)


def _ready_on_screen() -> None:
    _collect_garbage()
    ready()


def _collect_garbage() -> None:
    """Enable garbage collection for objects created from now on.

    The modules loaded at start-up stay alive, and scanning them is slow.
    """
    gc.freeze()
    gc.enable()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal
        return 80


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
    """Return the page of ``pi --help``."""
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
    lines += _format_section("Commands", forms, width)
    flags = (*FLAGS, *extension_flags)
    for group in dict.fromkeys(flag.group for flag in flags):
        lines += _format_section(group, _rows(flag for flag in flags if flag.group == group), width)
    lines += _format_section("Examples", EXAMPLES, width)
    lines += _format_section("Environment", VARIABLES, width)
    lines += _format_section("Exit codes", EXIT_CODES, width)
    return "".join(f"{line}\n" for line in lines)


def command_help(command: SubcommandRow, width: int) -> str:
    """Return the page of ``pi <command> --help``."""
    lines = [
        "Usage",
        *_format_columns([(f"pi {form.usage}", form.help) for form in command.forms], width),
    ]
    lines += _format_section("Options", _rows(command.flags), width)
    return "".join(f"{line}\n" for line in lines)


def usage_of(flag: Flag) -> str:
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
        yield usage_of(flag), f"{flag.help}{values}"


def _format_section(title: str, rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    return ["", title, *_format_columns(list(rows), width)]


def _format_columns(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Format two columns.

    If the terminal is narrow or the left side long, the right one goes below.
    """
    label_width = min(max((len(label) for label, _ in rows), default=0), LEFT) + 2
    indent = 6 if width < NARROW else label_width + 2
    for label, meaning in rows:
        first, *rest = _wrap(meaning, max(width - indent, 20))
        if indent == label_width + 2 and len(label) <= label_width - 2:
            yield f"  {label:{label_width}}{first}"
        else:
            yield f"  {label}"
            yield " " * indent + first
        yield from (" " * indent + line for line in rest)


def _wrap(text: str, width: int) -> list[str]:
    # Not textwrap: importing it takes longer than everything else for this page.
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
