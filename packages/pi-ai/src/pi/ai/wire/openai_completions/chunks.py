"""Event records, token counts, reasoning details and ``<think>`` tags of the stream.

Only fields that are used are decoded. Fields that servers fill in different ways are left
undecoded; their readers check them.
"""

# Without `from __future__ import annotations`: every request decodes these records, and msgspec
# has to compile each annotation that is a string.

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from pi.ai.failures.details import is_error_object
from pi.ai.json_text import fitted, json_text, read_json
from pi.ai.messages import Json, Usage
from pi.ai.wire.openai_completions.history import (
    REASONING_DETAILS,
    REASONING_FIELDS,
    REASONING_OPAQUE,
)


class Delta(msgspec.Struct, gc=False):
    """The new content of a choice."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    reasoning_details: Any = None
    reasoning_opaque: Any = None
    refusal: Any = None
    tool_calls: Any = None


class ChunkChoice(msgspec.Struct, gc=False):
    """One of the alternatives; there is one, though some servers spread it over several."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    usage: Any = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream."""

    choices: list[ChunkChoice | None] | None = None
    usage: Any = None
    error: Any = None


class FirstChunk(Chunk, gc=False):
    """First chunks carry id and model; later ones repeat them and are not read."""

    id: Any = None
    model: Any = None
    service_tier: Any = None


_OPENINGS = msgspec.json.Decoder(FirstChunk)

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_first = _OPENINGS.decode
"""Fast decoders: they raise for everything that is not a chunk."""


def decode_lenient(data: bytes) -> FirstChunk | None:
    """Decode an event that is not a chunk: an error, or nothing.

    Raises ``BadAnswer`` if it is not even JSON.
    """
    value = read_json(data)
    if isinstance(value, dict) and is_error_object(value):
        return FirstChunk(error=value)
    return fitted(value, _OPENINGS)


# Token counts -------------------------------------------------------------------------------------


MAX_COUNT = 2**53
"""Limit of plausible counts; larger numbers and infinities are ignored."""


def parse_usage(counted: Any) -> Usage | None:
    """Return the counts of ``counted``; ``None`` if it has none, since zeros mean nothing.

    Cached tokens are part of the prompt and thinking is part of the output, in whichever field they
    are reported.
    """
    if not isinstance(counted, dict):
        return None
    prompt, output = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if not prompt and not output:
        return None
    details = _object(counted, "prompt_tokens_details")
    read = (
        _count(details, "cached_tokens")
        or _count(counted, "prompt_cache_hit_tokens")
        or _count(counted, "cached_tokens")
    )
    cache_write = _count(details, "cache_write_tokens")
    thoughts = _number(_object(counted, "completion_tokens_details").get("reasoning_tokens"))
    reasoning = int(thoughts or 0)
    if reasoning and _count(counted, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI and Google count thinking separately
    return Usage(
        input=max(prompt - read - cache_write, 0),
        output=output,
        cache_read=read,
        cache_write=cache_write,
        reasoning=UNSET if thoughts is None else min(reasoning, output),
    )


def reported_cost(counted: Json) -> float | None:
    """Return the cost that the server reports, in dollars, as OpenRouter does."""
    return _number(counted.get("cost"))


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(values: Json, name: str) -> int:
    return int(_number(values.get(name)) or 0)


def _number(value: object) -> float | None:
    """Return ``value`` if it is a plausible amount, else ``None``."""
    if isinstance(value, int | float) and 0 <= value < MAX_COUNT:
        return value
    return None


# Thinking in separate fields, with signatures -----------------------------------------------------


WORDS = ("text", "summary")
"""Fields of a detail that grow; all others are replaced."""
PROOFS = ("signature", "data")
"""Opaque fields of a detail that must be sent back."""


class ReasoningDetails:
    """Data that comes with thinking and must be sent back: OpenRouter's details, Copilot's blob."""

    def __init__(self) -> None:
        self.opaque = ""
        """The blob, which comes whole with any delta, also with one without thinking."""
        self._details: list[tuple[Json, dict[str, list[str]]]] = []

    def add(self, pieces: Any) -> str:
        """Add new details; returns the text in them."""
        text = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                text += self._merge(piece)
        return text

    @property
    def proof(self) -> str | None:
        """The data as JSON; ``None`` if the server does not require it back."""
        if not any(fields.get(name) for fields, _ in self._details for name in PROOFS):
            return json_text({REASONING_OPAQUE: self.opaque}) if self.opaque else None
        return json_text(
            [
                fields | {name: "".join(parts) for name, parts in text_parts.items()}
                for fields, text_parts in self._details
            ]
        )

    def _merge(self, piece: Json) -> str:
        if not self._details or not _continues(self._details[-1][0], piece):
            self._details.append(({}, {}))
        fields, text_parts = self._details[-1]
        text = ""
        for name, value in piece.items():
            if name in WORDS and isinstance(value, str):
                text_parts.setdefault(name, []).append(value)
                text += value
            elif value is not None or name not in fields:
                fields[name] = value
        return text


def thinking_delta(delta: Delta, details: ReasoningDetails) -> tuple[str, str]:
    """Return the new thinking text and its field.

    Servers may send the same text in several fields; only one is used.
    """
    in_details = "" if delta.reasoning_details is None else details.add(delta.reasoning_details)
    if delta.reasoning_opaque and isinstance(delta.reasoning_opaque, str):
        details.opaque = delta.reasoning_opaque
    for field in REASONING_FIELDS:
        text = getattr(delta, field)
        if text and isinstance(text, str):
            return text, field
    return in_details, REASONING_DETAILS


def _continues(fields: Json, piece: Json) -> bool:
    return all(fields.get(name) == piece.get(name) for name in ("type", "index"))


# ``<think>`` tags, which servers without a reasoning parser send in the text ----------------------
#
# Text between the tags is thinking, unless the tags are in code. Deltas may split tags anywhere.


OPEN, CLOSE = "<think>", "</think>"
_MARKS = re.compile(r"\n|`+|~{3,}")


class CodeFenceTracker:
    """Tracks Markdown to know whether the end of a text is in code."""

    def __init__(self) -> None:
        self._fence = ""
        self._inline = ""
        self._line_is_blank = True

    @property
    def in_code(self) -> bool:
        """Whether the next character is code."""
        return bool(self._fence or self._inline)

    def read(self, text: str) -> None:
        """Continue with ``text``, which must not end within a run of backticks."""
        start = 0
        for mark in _MARKS.finditer(text):
            self._pass_over(text[start : mark.start()])
            start = mark.end()
            if mark[0] == "\n":
                self._end_line()
            else:
                self._mark(mark[0])
        self._pass_over(text[start:])

    def _pass_over(self, text: str) -> None:
        self._line_is_blank = self._line_is_blank and not text.strip()

    def _end_line(self) -> None:
        if self._line_is_blank:
            self._inline = ""  # a paragraph ends, and with it unclosed inline code
        self._line_is_blank = True

    def _mark(self, mark: str) -> None:
        if self._fence:
            if self._line_is_blank and mark.startswith(self._fence):
                self._fence = ""
        elif self._inline:
            if mark == self._inline:
                self._inline = ""
        elif self._line_is_blank and len(mark) >= 3:
            self._fence = mark
        elif mark[0] == "`":
            self._inline = mark
        self._line_is_blank = False


class ThinkTags:
    """Splits visible text into text and thinking, for servers without a reasoning parser.

    Text between ``<think>`` tags is thinking, unless the tags are in code. Deltas may split tags
    anywhere.

    While ``plain``, a delta without ``<`` is plain text: append it to ``unread``, which is needed
    only to detect code around a later tag.
    """

    def __init__(self) -> None:
        self.plain = True
        self.unread: list[str] = []
        self._markdown = CodeFenceTracker()
        self._thinking = False
        self._held = ""
        self._after_tag = False

    def split(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield the pieces of ``text`` as pairs: whether it is thinking, and the piece."""
        text = self._held + text
        while (tag := CLOSE if self._thinking else OPEN) in text:
            before, _, text = text.partition(tag)
            yield from self._piece(before)
            if self._thinking or not self._in_code():
                self._thinking = not self._thinking
                self._after_tag = True
            else:
                yield from self._piece(tag)
        end = text.rfind("<")
        if end < 0 or not tag.startswith(text[end:]):
            end = len(text)
        self._held = text[end:]
        yield from self._piece(text[:end])
        self.plain = not (self._thinking or self._held or self._after_tag)

    def rest(self) -> Iterator[tuple[bool, str]]:
        """Yield the text that was held back as the possible start of a tag."""
        held, self._held = self._held, ""
        yield from self._piece(held)

    def _piece(self, text: str) -> Iterator[tuple[bool, str]]:
        if self._after_tag:
            text = text.lstrip("\n")  # line ends around thinking belong to the tags
        if not text:
            return
        self._after_tag = False
        if not self._thinking:
            self.unread.append(text)
        yield self._thinking, text

    def _in_code(self) -> bool:
        self._markdown.read("".join(self.unread))
        self.unread.clear()
        return self._markdown.in_code
