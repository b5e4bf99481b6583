"""The words of the command line → what is wanted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.base.records import Record, field
from pi.cli.flags import FLAGS, Flag

FORK_ALONE = ("session", "continue", "resume", "no_session")
SESSION_ID_ALONE = ("session", "continue", "resume")


class BadArguments(PiError):
    """A command line that cannot be understood."""


class Arguments(Record):
    """What was said, by the field names of the flags."""

    options: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """``@path``, without the at sign."""
    messages: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    """A value that follows another, such as the second of ``--export``."""

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
    parser = _Parser(words)
    while parser.more:
        parser.step()
    arguments = Arguments(
        options=parser.options,
        files=tuple(parser.files),
        messages=tuple(parser.messages),
        rest=tuple(parser.rest),
    )
    _check(arguments)
    return arguments


class _Parser:
    """Goes through the words, one or two at a time."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._only_messages = False
        self._flags = {flag.name: flag for flag in FLAGS} | {
            flag.short: flag for flag in FLAGS if flag.short
        }
        self.options: dict[str, Any] = {}
        self.files: list[str] = []
        self.messages: list[str] = []
        self.rest: list[str] = []

    @property
    def more(self) -> bool:
        return bool(self._words)

    def step(self) -> None:
        word = self._words.pop(0)
        if word.startswith("@") and len(word) > 1:
            self.files.append(word[1:])  # also behind --, as the original does it
        elif self._only_messages or not word.startswith("-") or not _looks_like_option(word):
            self.messages.append(word)
        elif word == "--":
            self._only_messages = True
        elif (flag := self._flags.get(word)) is not None:
            self._take(flag, word)
        else:
            raise self._unknown(word)

    def _take(self, flag: Flag, word: str) -> None:
        if flag.kind == "switch":
            self.options[flag.field] = True
        elif flag.kind == "optional":
            follows = self._words and not self._words[0].startswith(("-", "@"))
            self.options[flag.field] = self._words.pop(0) if follows else ""
        else:
            self._take_value(flag, word)

    def _take_value(self, flag: Flag, word: str) -> None:
        if not self._words:
            raise BadArguments(f"{word} requires a value", hint=f"{flag.name} <{flag.value}>")
        value = self._words.pop(0)
        match flag.kind:
            case "many":
                self.options.setdefault(flag.field, []).append(value)
            case "list":
                names = [name.strip() for name in value.split(",")]
                self.options[flag.field] = [name for name in names if name]
            case _:
                self.options[flag.field] = value
        if flag.name == "--export" and self._words and not self._words[0].startswith("-"):
            self.rest.append(self._words.pop(0))

    def _unknown(self, word: str) -> BadArguments:
        name = word.split("=", 1)[0]
        like = name if name in self._flags else nearest(name, self._flags)
        hint = f"Did you mean {like}?" if like else "See `pi --help`."
        if name in self._flags:
            hint = f"Write the value as a word of its own: {name} {word.split('=', 1)[1]}"
        return BadArguments(f"Unknown option: {word}", hint=hint)


def _looks_like_option(word: str) -> bool:
    """Whether a word is meant as an option; front matter and a list of points are not."""
    return word == "--" or not (word.startswith("---") or any(c.isspace() for c in word))


def _check(arguments: Arguments) -> None:
    for alone, others in (("fork", FORK_ALONE), ("session_id", SESSION_ID_ALONE)):
        if alone in arguments.options:
            for other in others:
                if other in arguments.options:
                    names = [f"--{name.replace('_', '-')}" for name in (alone, other)]
                    raise BadArguments(f"{names[0]} cannot be combined with {names[1]}")
    mode = arguments.text("mode")
    if mode is not None and mode not in ("text", "json", "rpc"):
        raise BadArguments(f'Invalid mode "{mode}". Valid values: text, json, rpc')
    tui = arguments.text("tui_mode")
    if tui is not None and tui not in ("regular", "fullscreen"):
        raise BadArguments(f'Invalid TUI mode "{tui}". Valid values: regular, fullscreen')
    name = arguments.text("name")
    if name is not None and not name.strip():
        raise BadArguments("--name requires a non-empty value")
    if "api_key" in arguments.options and not {"model", "provider", "models"} & set(
        arguments.options
    ):
        raise BadArguments(
            "--api-key requires a model to be specified via"
            " --model, --provider/--model, or --models"
        )
