"""``pi completion bash|zsh|fish``: prints a completion script, generated from the option tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pi.cli.arguments import Arguments, UsageError
from pi.cli.options import FLAGS, Flag
from pi.cli.subcommand_rows import COMMANDS, SubcommandRow

Rows: TypeAlias = Sequence[SubcommandRow]
"""Subcommands of extensions."""

HINT = 'For example, in ~/.bashrc: eval "$(pi completion bash)"'


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Print the script and return the exit code."""
    write = SHELLS.get(" ".join(arguments.messages))
    if write is None:
        raise UsageError(f"No valid shell given. Valid values: {', '.join(SHELLS)}", hint=HINT)
    sys.stdout.write(write(_extension_rows(environ)))
    return 0


def _extension_rows(environ: Mapping[str, str]) -> tuple[SubcommandRow, ...]:
    """Return the subcommands of extensions, from their manifests."""
    from pi.cli.extension_options import read_manifest_options, subcommand_row

    declared = read_manifest_options(Arguments(), environ, Path.cwd())
    return tuple(subcommand_row(name, row) for name, row in declared.subcommands.items())


def bash(more: Rows = ()) -> str:
    """Return a script for bash."""
    cases = "\n".join(_bash_case(command) for command in _listed_commands(more))
    return f"""\
# Completion of pi for bash: eval "$(pi completion bash)"
COMP_WORDBREAKS=${{COMP_WORDBREAKS//@/}}  # @file is one word
_pi_files() {{
    local IFS=$'\\n'
    COMPREPLY=($(compgen "$@"))
}}
_pi_attached() {{
    local at
    _pi_files -f -- "$1"
    compopt +o filenames 2>/dev/null  # to readline, @ would be a part of the name
    for at in "${{!COMPREPLY[@]}}"; do
        if [[ -d ${{COMPREPLY[at]}} ]]; then
            compopt -o nospace 2>/dev/null
            printf -v COMPREPLY[at] '@%q/' "${{COMPREPLY[at]}}"
        else
            printf -v COMPREPLY[at] '@%q' "${{COMPREPLY[at]}}"
        fi
    done
}}
_pi() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    local flags words=
    COMPREPLY=()
    case $before in
{_bash_values()}
    esac
    case $word in
        @[\\"\\']*) return ;;  # a word that begins with a quote after the @ stays as typed
        @*) _pi_attached "${{word#@}}"; return ;;
    esac
    case ${{COMP_WORDS[1]}} in
{cases}
        *) flags={_quote(" ".join(_flag_names(FLAGS)))} ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
        return
    fi
    ((COMP_CWORD == 1)) && words={_quote(" ".join(c.name for c in _listed_commands(more)))}
    ((COMP_CWORD <= 2)) && COMPREPLY=($(compgen -W "$words" -- "$word"))
    ((${{#COMPREPLY[@]}})) || _pi_files -f -- "$word"
}}
complete -o filenames -F _pi pi
"""


def zsh(more: Rows = ()) -> str:
    """Return a script for zsh, to be evaluated or stored as ``_pi`` in a folder of ``fpath``."""
    commands = "\n".join(
        f"        {_quote(f'{command.name}:{_help_text(command)}')}"
        for command in _listed_commands(more)
    )
    cases = "\n".join(
        f"        {command.name}) _arguments {' '.join(_zsh_command(command))} ;;"
        for command in _listed_commands(more)
    )
    options = " \\\n        ".join(_zsh_options(FLAGS))
    return f"""\
#compdef pi
# Completion of pi for zsh: eval "$(pi completion zsh)"
_pi() {{
    if compset -P @; then
        _files
        return
    fi
    local -a commands
    commands=(
{commands}
    )
    case ${{words[2]}} in
{cases}
        *)
            ((CURRENT == 2)) && _describe command commands
            _arguments \\
        {options} \\
        '*:file or message:_files' ;;
    esac
}}
if [[ ${{funcstack[1]}} == _pi ]]; then
    _pi "$@"  # as a file of fpath, at its first use
else
    compdef _pi pi
fi
"""


def fish(more: Rows = ()) -> str:
    """Return a script for fish."""
    lines = ["# Completion of pi for fish: pi completion fish | source", _FISH_FILES]
    for command in _listed_commands(more):
        lines.append(
            f"complete -c pi -n __fish_use_subcommand -a {command.name}"
            f" -d {_quote(_help_text(command))}"
        )
        inside = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"complete -c pi {inside} -f -a {action}" for action in command.actions]
        lines += [f"complete -c pi {inside} {row}" for row in _fish_rows(command.flags)]
    # Not __fish_use_subcommand: it takes the value of an option for a subcommand.
    commands = " ".join(command.name for command in _listed_commands(more))
    outside = f"-n 'not __fish_seen_subcommand_from {commands}'"
    lines += [f"complete -c pi {outside} {row}" for row in _fish_rows(FLAGS)]
    return "".join(f"{line}\n" for line in lines)


_FISH_FILES = (
    "complete -c pi -n 'string match -q -- \"@*\" (commandline -ct)' -f"
    " -a '@(__fish_complete_path (commandline -ct | string sub -s 2))'"
)
SHELLS: dict[str, Callable[[Rows], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


# --------------------------------------------------------------------------------------------------


def _listed_commands(more: Rows) -> Iterator[SubcommandRow]:
    return (command for command in (*COMMANDS, *more) if not command.is_alias)


def _help_text(command: SubcommandRow) -> str:
    return command.forms[0].help


def _flag_names(flags: Iterable[Flag]) -> Iterator[str]:
    return (name for flag in flags for name in (flag.short, flag.name) if name)


def _quote(text: str) -> str:
    """Quote a word for all three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


def _bash_case(command: SubcommandRow) -> str:
    flags, actions = " ".join(_flag_names(command.flags)), " ".join(command.actions)
    return f"        {command.name}) flags={_quote(flags)} words={_quote(actions)} ;;"


def _bash_values() -> str:
    """Return the completions of option values."""
    rows = []
    for flag in FLAGS:
        names = "|".join(name for name in (flag.short, flag.name) if name)
        if flag.values:
            values = _quote(" ".join(flag.values))
            reply = f'COMPREPLY=($(compgen -W {values} -- "$word"))'
        elif flag.completes:
            kind = "-d" if flag.completes == "folder" else "-f"
            reply = f'_pi_files {kind} -- "$word"'
        elif flag.kind in ("switch", "optional"):
            continue
        else:
            reply = ":"
        rows.append(f"        {names}) {reply}; return ;;")
    return "\n".join(rows)


def _zsh_command(command: SubcommandRow) -> Iterator[str]:
    yield "'1: :'"
    if command.actions:
        yield _quote(f"2:action:({' '.join(command.actions)})")
    yield from _zsh_options(command.flags)
    yield "'*: :_files'"


def _zsh_options(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        many = "*" if flag.kind == "many" else ""
        help = flag.help.replace("[", "(").replace("]", ")").replace(":", " ")
        value = ""
        if flag.kind != "switch":
            action = {"file": "_files", "folder": "_files -/"}.get(flag.completes, " ")
            action = f"({' '.join(flag.values)})" if flag.values else action
            optional = ":" if flag.kind == "optional" else ""
            value = f":{optional}{flag.value.replace(':', ' ')}:{action}"
        for name in (flag.short, flag.name):
            if name:
                yield _quote(f"{many}{name}[{help}]{value}")


def _fish_rows(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        parts = [f"-l {flag.name.removeprefix('--')}", f"-d {_quote(flag.help)}"]
        if flag.short:
            # Not -s, also for one letter: with it, -nc would be -n with the value c.
            parts.insert(0, f"-o {flag.short.removeprefix('-')}")
        if flag.values:
            parts.append(f"-x -a {_quote(' '.join(flag.values))}")
        elif flag.completes == "folder":
            parts.append("-x -a '(__fish_complete_directories)'")
        elif flag.kind not in ("switch", "optional"):
            parts.append("-r" if flag.completes else "-x")
        yield " ".join(parts)
