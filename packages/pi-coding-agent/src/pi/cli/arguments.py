"""Parses the command line and selects the mode. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import field

from pi.base.errors import PiError
from pi.base.records import Record, replace
from pi.cli.options import BATTERIES, FLAGS, MODES, TUI_MODES, Flag

ALONE = {
    "fork": ("session", "continue", "resume", "no_session"),
    "session_id": ("session", "continue", "resume"),
}
"""Options, and those that they cannot be combined with."""

OPENS_STORED = ("fork", "session", "session_id", "continue", "resume")
"""Options that open an existing session."""

_OPTION = r"--?[A-Za-z][\w-]*(=\S*)?"
"""Matches options, but not front matter, list items and negative numbers: those are prompts."""


class UsageError(PiError):
    """Invalid command line arguments."""


class ExtensionOption(Record):
    """An option that only an extension can explain."""

    name: str
    """Without its dashes."""
    value: str | None = None
    is_attached: bool = True
    """Whether the value was attached with ``=``; otherwise it may be a message after a switch."""


class Arguments(Record):
    """Parsed arguments; options are stored by the field names of the flags."""

    command: str = ""
    """The built-in or extension subcommand; empty for a session."""
    is_bundled: bool = False
    """Whether a bundled extension has the subcommand: others may have taken its short name."""
    options: dict[str, Any] = field(default_factory=dict)
    """Given options: ``True`` for a switch, a text for a value, a tuple of texts for several."""
    files: tuple[str, ...] = ()
    """``@path``, without the at sign."""
    messages: tuple[str, ...] = ()
    """All other arguments."""
    extension_options: tuple[ExtensionOption, ...] = ()
    unresolved_words: tuple[str, ...] = ()
    """All words, if some of them can be parsed only after extensions are loaded."""

    def text(self, name: str) -> str | None:
        """Return the value of an option, or ``None``."""
        value = self.options.get(name)
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return all values of an option, or ``None``."""
        value = self.options.get(name)
        return value if isinstance(value, tuple) else None

    @property
    def prompts(self) -> tuple[str, ...]:
        """The prompts to send: all messages, or an extension command with its arguments."""
        if not self.command:
            return self.messages
        from shlex import join  # deferred: few command lines need it

        prefix = "pi:" if self.is_bundled else ""
        return (f"/{prefix}{self.command} {join(self.messages)}".rstrip(),)


def parse_arguments(
    argv: Sequence[str],
    extension_flags: Sequence[Flag] | None = None,
    *,
    own: Sequence[Flag] = (),
    attach: bool = True,
) -> Arguments:
    """Parse ``argv``. Raises ``UsageError`` with the nearest option for an unknown one.

    If no extension flags are given, an unknown option may belong to an extension; it is kept in
    ``unresolved_words``. ``own`` are flags of an extension that replace those of pi with that name.
    With ``attach``, a word with ``@`` names a file.
    """
    replaced = {flag.name for flag in own}
    flags = [flag for flag in FLAGS if flag.name not in replaced] if own else FLAGS
    arguments = _Parser(argv, flags, extension_flags, attach=attach).parsed()
    for name in ("help", "version"):
        if name in arguments.options:
            return arguments  # --help works even if other arguments are invalid
    for message in _find_problems(arguments):
        raise UsageError(message)
    return arguments


def parse_words(
    argv: Sequence[str], flags: Sequence[Flag], *, command: str = "", attach: bool = False
) -> Arguments:
    """Parse ``argv`` with these flags; with ``attach``, a word with ``@`` names a file."""
    return replace(_Parser(argv, flags, (), attach=attach).parsed(), command=command)


def _by_name(flags: Sequence[Flag]) -> dict[str, Flag]:
    return {name: flag for flag in flags for name in (flag.name, flag.short, flag.alias) if name}


class _Parser:
    """Consumes the words, one or two at a time."""

    def __init__(
        self,
        argv: Sequence[str],
        flags: Sequence[Flag],
        extension_flags: Sequence[Flag] | None,
        *,
        attach: bool,
    ) -> None:
        self._all = tuple(argv)
        self._words = list(argv)
        self._attach = attach
        self._only_messages = False
        self._flags = _by_name(flags)
        self._extension_flags = _by_name(extension_flags or ())
        self._keeps_unknown = extension_flags is None
        self._has_unresolved_words = False
        self._options: dict[str, Any] = {}
        self._extension_options: dict[str, ExtensionOption] = {}
        self._files: list[str] = []
        self._messages: list[str] = []

    def parsed(self) -> Arguments:
        """Parse all words."""
        while self._words:
            self._step()
        return Arguments(
            options=self._options,
            files=tuple(self._files),
            messages=tuple(self._messages),
            extension_options=tuple(self._extension_options.values()),
            unresolved_words=self._all if self._has_unresolved_words else (),
        )

    def _step(self) -> None:
        word = self._words.pop(0)
        if self._attach and word.startswith("@") and len(word) > 1:
            self._files.append(word[1:])  # also after --, like the original
        elif self._only_messages or not word.startswith("-"):
            self._messages.append(word)
        elif (flag := self._flags.get(word.partition("=")[0])) is not None:
            self._read_option(flag, word)
        elif word == "--":
            self._only_messages = True
        elif not re.fullmatch(_OPTION, word):
            self._messages.append(word)
        elif not self._parse_extension_option(word):
            raise self._unknown_option(word)

    def _parse_extension_option(self, word: str) -> bool:
        """Parse an option of an extension; returns whether ``word`` is or may be one."""
        name, equals, value = word.partition("=")
        flag = self._extension_flags.get(name)
        if flag is None and (not self._keeps_unknown or name[:2] != "--"):
            return False
        option = ExtensionOption(name=name.removeprefix("--"), value=value if equals else None)
        if flag is None:
            self._has_unresolved_words = True
        if not equals and (flag is None or flag.kind == "value"):
            if self._word_follows:
                option = replace(option, value=self._words.pop(0), is_attached=flag is not None)
            elif flag is not None:
                raise UsageError(f'Extension flag "{name}" requires a value')
        self._extension_options[option.name] = option
        return True

    def _read_option(self, flag: Flag, word: str) -> None:
        name, equals, attached = word.partition("=")
        if equals and flag.kind == "switch":
            raise UsageError(
                f"{name} takes no value, but {attached!r} was given",
                hint=f"Use {name} without a value.",
            )
        if equals:
            self._words.insert(0, attached)
        match flag.kind:
            case "switch":
                self._options[flag.field] = True
            case "optional":
                has_value = equals or self._word_follows
                self._options[flag.field] = self._words.pop(0) if has_value else ""
            case "many":
                before = self._options.get(flag.field, ())
                self._options[flag.field] = (*before, self._value(flag, name))
            case "list":
                names = (name.strip() for name in self._value(flag, name).split(","))
                self._options[flag.field] = tuple(name for name in names if name)
            case "pair":
                first = self._value(flag, name)
                second = (self._words.pop(0),) if self._word_follows else ()
                self._options[flag.field] = (first, *second)
            case "value":
                self._options[flag.field] = self._value(flag, name)

    def _value(self, flag: Flag, name: str) -> str:
        if not self._words:
            raise UsageError(f"{name} requires a value", hint=f"{flag.name} <{flag.value}>")
        return self._words.pop(0)

    @property
    def _word_follows(self) -> bool:
        return bool(self._words) and not self._words[0].startswith(("-", "@"))

    def _unknown_option(self, word: str) -> UsageError:
        from pi.base.fuzzy import nearest  # lazy: for mistakes only

        name = word.partition("=")[0]
        if like := nearest(name, (*self._flags, *self._extension_flags)):
            hint = f"Did you mean {like}?"
        else:
            hint = "See `pi --help`."
        return UsageError(f"Unknown option: {word}", hint=hint)


_FIXED = (
    ("mode", "mode", MODES),
    ("tui_mode", "TUI mode", TUI_MODES),
    ("batteries", "set of batteries", BATTERIES),
)
"""Options with fixed values."""


def _find_problems(arguments: Arguments) -> Iterator[str]:
    """Check the values and combinations of options."""
    options = arguments.options
    for alone, others in ALONE.items():
        for other in others:
            if alone in options and other in options:
                yield f"{_option_name(alone)} cannot be combined with {_option_name(other)}"
    for option, label, valid_values in _FIXED:
        value = arguments.text(option)
        if value is not None and value not in valid_values:
            yield f'Invalid {label} "{value}". Valid values: {", ".join(valid_values)}'
    signs = {tool[:1] in ("+", "-") for tool in arguments.texts("tools") or ()}
    if len(signs) > 1:
        yield "--tools: +NAME and -NAME change the active tools; do not mix them with other names"
    name = arguments.text("name")
    if name is not None and not name.strip():
        yield "--name requires a non-empty value"
    if "api_key" in options and not options.keys() & {"model", "provider", "models"}:
        yield (
            "--api-key requires a model to be specified via"
            " --model, --provider/--model, or --models"
        )


def _option_name(field: str) -> str:
    return f"--{field.replace('_', '-')}"


# Mode ---------------------------------------------------------------------------------------------


Mode: TypeAlias = Literal["print", "json", "rpc", "acp", "interactive"]


def chosen_mode(arguments: Arguments, *, terminal: bool) -> Mode:
    """Return the requested mode; otherwise interactive if both ends are a terminal."""
    named = arguments.text("mode")
    if named in ("json", "rpc", "acp"):
        return cast("Mode", named)
    return "interactive" if terminal and "print" not in arguments.options else "print"


def check_mode(arguments: Arguments, mode: Mode) -> None:
    """Raise ``UsageError`` if the command line has arguments that ``mode`` does not support."""
    if "json_schema" in arguments.options and mode not in ("print", "json"):
        raise UsageError(
            "--json-schema is for print and JSON mode.", hint="Add -p, or --mode json."
        )
    if mode == "interactive":
        return
    if arguments.text("resume") == "":
        raise UsageError(
            "--resume needs a terminal to choose a session.",
            hint="Use --continue for the latest one, or --session <id>; `pi sessions` lists them.",
        )
    if mode == "rpc" and arguments.files:
        raise UsageError("@file arguments are not supported in RPC mode")
    if mode == "acp":
        refused = [
            f"--{name.replace('_', '-')}" for name in OPENS_STORED if name in arguments.options
        ]
        if refused or arguments.files or arguments.messages:
            raise UsageError(
                f"{(*refused, 'A prompt')[0]} is not supported in ACP mode: the editor opens"
                " sessions and sends prompts.",
                hint="Configure the editor to run `pi acp`; see docs/guide/editors.md.",
            )
