"""First words of the command line that users type and that are no subcommands.

Short forms run the command that they abbreviate; words of other programs and mistyped subcommands
print a suggestion. As prompts all of them would be sent to a model.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments
from pi.cli.subcommand_rows import COMMANDS, find_command

_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
"""The characters allowed in the name of a subcommand; the first is a letter."""

SHORT_FORMS: Mapping[str, tuple[str, ...]] = {
    "login": ("auth", "login"),
    "logout": ("auth", "logout"),
    "resume": ("--resume",),
}
"""What a first word runs if nothing, an option or one word follows it."""

_PLUGINS = "`pi extensions` switches bundled extensions, `pi install` adds others."
_EXTENSIONS = "extensions"
SUGGESTIONS: Mapping[str, str] = {
    _EXTENSIONS: "`pi extensions list NAME` shows one, `pi extensions on|off NAME` switches it.",
    "batteries": "`pi extensions` lists and switches the bundled extensions.",
    "tools": "`pi extensions` lists what adds tools, and `--tools a,b` allows only these.",
    "settings": "In a session, /settings shows and changes them; /reload reads the file again.",
    "trust": "In a session, /trust decides; `--approve` trusts the project for one run.",
    "plugin": _PLUGINS,
    "plugins": _PLUGINS,
    "packages": "`pi list` lists installed packages, `pi install` adds one.",
    "upgrade": "`pi update` names the command that updates pi.",
}
"""What to use instead of words that are commands elsewhere, or that a command does not take."""
_ACTIONS = frozenset({"list", "ls", "show", "info", "search", "get", "set", "add", "remove"}) | {
    *("on", "off", "enable", "disable", "install", "edit")
}
"""Words after a name of ``SUGGESTIONS`` that make a command of it, not a sentence."""


MAX_ACTION = 3
"""Words after such a name, as in ``pi settings set theme light``; more are a sentence."""


def is_name(word: str) -> bool:
    """Whether a word has the form of a subcommand."""
    return word[:1].isalpha() and _NAME.issuperset(word)


def expand_short_form(argv: Sequence[str]) -> Sequence[str]:
    """Return the command line that a short form abbreviates; other words are returned unchanged.

    More than one word after it is a prompt, as in ``pi login fails on the second try``.
    """
    first, *following = argv
    if first not in SHORT_FORMS:
        return argv
    is_argument = len(following) == 1 and not set(following[0]).intersection(" \n\t")
    if following and not following[0].startswith("-") and not is_argument:
        return argv
    if first == "resume" and following and not following[0].startswith("-"):
        return ("--session", *following)  # --resume would send a word without a match as a prompt
    return (*SHORT_FORMS[first], *following)


def reject_non_prompt(
    argv: Sequence[str], arguments: Arguments, environ: Mapping[str, str]
) -> bool:
    """Print a suggestion and return True if the words are probably meant as a subcommand."""
    if arguments.messages == tuple(argv):
        line = (
            _suggest_other(argv)
            or _suggest_nearest(argv, environ)
            or _suggest_session_command(argv, environ)
        )
        if not line or _is_text_piped():  # as in `git diff | pi lint`
            return False
    else:
        line = _suggest_order(argv, arguments)
    if line:
        sys.stderr.write(f"{line}\n")
    return bool(line)


def _suggest_other(argv: Sequence[str]) -> str:
    first, *following = argv
    is_action = len(following) <= MAX_ACTION and following[:1] and following[0] in _ACTIONS
    is_argument = first == _EXTENSIONS and len(following) == 1 and is_name(following[0])
    if first not in SUGGESTIONS or (following and not (is_action or is_argument)):
        return ""
    typed = " ".join(argv)
    return (
        f"Unknown command `pi {typed}`. {SUGGESTIONS[first]} `pi -- {typed}` sends it as a prompt."
    )


def _suggest_nearest(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return a suggestion if the words are close to a subcommand."""
    word, *following = argv
    if not is_name(word):
        return ""
    from pi.base.fuzzy import nearest
    from pi.cli.extension_options import read_manifest_options

    declared = read_manifest_options(Arguments(), environ, Path.cwd()).subcommands
    # A word that other programs have as a command, and pi as an option.
    suggestion = f"--{word}" if word in ("help", "version") else None
    names = (*(command.name for command in COMMANDS), *SHORT_FORMS, *declared)
    suggestion = suggestion or nearest(word, names)
    if suggestion is None or (following and not _takes(suggestion, following)):
        return ""
    typed = " ".join(argv)
    return (
        f"Unknown command `pi {typed}`: did you mean `pi {' '.join([suggestion, *following])}`?"
        f" `pi -- {typed}` sends it as a prompt."
    )


def _suggest_session_command(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return a suggestion if the only word is the name of a command of sessions."""
    word, *following = argv
    if following or not is_name(word):
        return ""
    from pi.cli.extension_options import read_manifest_options
    from pi.modes.interactive.commands.table import BUILT_IN  # lazy: for single words only

    declared = read_manifest_options(Arguments(), environ, Path.cwd()).commands
    description = next((row.description for row in BUILT_IN if row.name == word), None)
    description = description or declared.get(word)
    if description is None:
        return ""
    return (
        f"Unknown command `pi {word}`. In a session, type /{word}: {one_line(description)}."
        f" `pi -- {word}` sends it as a prompt."
    )


def _suggest_order(argv: Sequence[str], arguments: Arguments) -> str:
    """Return a suggestion for a subcommand after options, where it is a prompt."""
    if len(arguments.messages) != 1 or "--" in argv or {"print", "mode"} & {*arguments.options}:
        return ""
    (word,) = arguments.messages
    if find_command(word) is None and word not in SHORT_FORMS:
        return ""
    return (
        f"`{word}` after an option is no command: write `pi {word}`, with its own options after it."
        f" `pi -- {word}` sends it as a prompt."
    )


def _takes(name: str, following: Sequence[str]) -> bool:
    """Whether the words can follow a subcommand: one of its actions, or its only argument.

    Other words are prompts, as in `pi lint "explain the first error"`.
    """
    if any(set(word).intersection(" \n\t") for word in following):
        return False
    if name in SHORT_FORMS:
        return len(following) == 1
    command = find_command(name)
    if command is None:
        return False
    takes_one = any(form.usage.startswith(f"{name} <") for form in command.forms)
    return following[0] in command.actions or (takes_one and len(following) == 1)


def _is_text_piped() -> bool:
    """Whether text is piped in, as in `git diff | pi lint`; waits for the first byte or the end."""
    if stat.S_ISCHR(os.fstat(0).st_mode):  # a terminal or /dev/null
        return False
    if sys.platform == "win32":
        return True
    import fcntl
    import select
    import termios

    select.select([0], [], [])
    return any(fcntl.ioctl(0, termios.FIONREAD, bytes(4)))
