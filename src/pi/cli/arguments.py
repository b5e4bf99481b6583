"""The words of the command line → what is wanted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.base.records import Record, field
from pi.cli.flags import FLAGS, MODES, TUI_MODES, Flag

ALONE = {
    "fork": ("session", "continue", "resume", "no_session"),
    "session_id": ("session", "continue", "resume"),
}
"""Options, and those that they cannot be combined with."""

_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=\S*)?|--")
"""What is meant as an option; front matter, a list of points or a negative number is a prompt."""


class BadArguments(PiError):
    """A command line that cannot be understood."""


class Arguments(Record):
    """What was said, by the field names of the flags."""

    command: str = ""
    """The command that the words belong to; none for a session."""
    options: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """``@path``, without the at sign."""
    messages: tuple[str, ...] = ()
    """All other words."""

    def switch(self, name: str) -> bool:
        """Whether a switch was given."""
        return self.options.get(name) is True

    def text(self, name: str) -> str | None:
        """The value of an option, if it was given."""
        value = self.options.get(name)
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        """All values of an option, if it was given."""
        value = self.options.get(name)
        return tuple(value) if isinstance(value, list) else None


def parse_arguments(words: Sequence[str]) -> Arguments:
    """What ``words`` say; ``BadArguments`` with the nearest option for one that is unknown."""
    arguments = parse_words(words, FLAGS, attach=True)
    for name in ("help", "version"):
        if arguments.switch(name):
            return arguments  # who asks for help does not want to hear what is wrong
    for problem in _problems(arguments):
        raise BadArguments(problem)
    return arguments


def parse_words(
    words: Sequence[str], flags: Sequence[Flag], *, command: str = "", attach: bool = False
) -> Arguments:
    """What ``words`` say with these flags; with ``attach``, a word with ``@`` names a file."""
    parser = _Parser(words, flags, attach=attach)
    while parser.more:
        parser.step()
    return Arguments(
        command=command,
        options=parser.options,
        files=tuple(parser.files),
        messages=tuple(parser.messages),
    )


class _Parser:
    """Goes through the words, one or two at a time."""

    def __init__(self, words: Sequence[str], flags: Sequence[Flag], *, attach: bool) -> None:
        self._words = list(words)
        self._attach = attach
        self._only_messages = False
        self._flags = {flag.name: flag for flag in flags} | {
            flag.short: flag for flag in flags if flag.short
        }
        self.options: dict[str, Any] = {}
        self.files: list[str] = []
        self.messages: list[str] = []

    @property
    def more(self) -> bool:
        return bool(self._words)

    def step(self) -> None:
        word = self._words.pop(0)
        if self._attach and word.startswith("@") and len(word) > 1:
            self.files.append(word[1:])  # also behind --, as the original does it
        elif self._only_messages or not _OPTION.fullmatch(word):
            self.messages.append(word)
        elif word == "--":
            self._only_messages = True
        elif (flag := self._flags.get(word)) is not None:
            self._take(flag, word)
        else:
            raise self._unknown(word)

    def _take(self, flag: Flag, word: str) -> None:
        match flag.kind:
            case "switch":
                self.options[flag.field] = True
            case "optional":
                self.options[flag.field] = self._words.pop(0) if self._word_follows else ""
            case "many":
                self.options.setdefault(flag.field, []).append(self._value(flag, word))
            case "list":
                names = (name.strip() for name in self._value(flag, word).split(","))
                self.options[flag.field] = [name for name in names if name]
            case "pair":
                first = self._value(flag, word)
                second = [self._words.pop(0)] if self._word_follows else []
                self.options[flag.field] = [first, *second]
            case "value":
                self.options[flag.field] = self._value(flag, word)

    def _value(self, flag: Flag, word: str) -> str:
        if not self._words:
            raise BadArguments(f"{word} requires a value", hint=f"{flag.name} <{flag.value}>")
        return self._words.pop(0)

    @property
    def _word_follows(self) -> bool:
        return bool(self._words) and not self._words[0].startswith(("-", "@"))

    def _unknown(self, word: str) -> BadArguments:
        name, equals, value = word.partition("=")
        if equals and name in self._flags:
            hint = f"Write the value as a word of its own: {name} {value}"
        elif like := nearest(name, self._flags):
            hint = f"Did you mean {like}?"
        else:
            hint = "See `pi --help`."
        return BadArguments(f"Unknown option: {word}", hint=hint)


def _problems(arguments: Arguments) -> Iterator[str]:
    """What is wrong with options that are well known."""
    given = arguments.options
    for alone, others in ALONE.items():
        for other in others:
            if alone in given and other in given:
                yield f"{_spelled(alone)} cannot be combined with {_spelled(other)}"
    for option, what, known in (("mode", "mode", MODES), ("tui_mode", "TUI mode", TUI_MODES)):
        value = arguments.text(option)
        if value is not None and value not in known:
            yield f'Invalid {what} "{value}". Valid values: {", ".join(known)}'
    name = arguments.text("name")
    if name is not None and not name.strip():
        yield "--name requires a non-empty value"
    if "api_key" in given and not given.keys() & {"model", "provider", "models"}:
        yield (
            "--api-key requires a model to be specified via"
            " --model, --provider/--model, or --models"
        )


def _spelled(field: str) -> str:
    return f"--{field.replace('_', '-')}"
