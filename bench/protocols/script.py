"""Scripts of the mock server, named by model ids, and their answers. Pure.

``echo-N``     N text deltas as fast as they are read
``echo-N@R``   the same at R deltas per second
``tools-K``    one tool call per request until the request holds K tool results, then a short text
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count as numbers
from itertools import islice
from typing import Any

import msgspec

from pi.base.records import Record

Json = dict[str, Any]

EXAMPLES = ("echo-20", "echo-500@100", "echo-20000", "tools-50")
"""Model ids that ``GET /models`` names; every other N, R and K works as well."""

_ECHO = re.compile(r"echo-(\d{1,6})(?:@([1-9]\d{0,5}))?")
_TOOLS = re.compile(r"tools-(\d{1,4})")
_SENTENCE = ("The", " quick", " brown", " fox", " jumps", " over", " the", " lazy", " dog", ". ")
_FRAGMENT = 8


class UnknownModel(Exception):
    """The model id is none of the scripts above."""


class Script(Record):
    """A parsed model id."""

    deltas: int = 0
    rate: int | None = None
    """Deltas per second; None is as fast as the client reads."""
    calls: int | None = None
    """Tool results after which the model calls no more tools; None if it never calls one."""


class Text(Record):
    """An answer in words, in the pieces in which it is streamed."""

    turn: int
    """How long the conversation was before: makes ids that are unique within it."""
    deltas: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The complete text."""
        return "".join(self.deltas)


class ToolCall(Record):
    """An answer that calls a tool; ``deltas`` are pieces of the arguments' JSON text."""

    turn: int
    name: str
    deltas: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The complete arguments as JSON text."""
        return "".join(self.deltas)

    @property
    def arguments(self) -> Any:
        """The arguments as a value."""
        return msgspec.json.decode(self.whole)


class Offer(Record):
    """A tool that the request offers."""

    name: str
    schema: Json


def offers_in(tools: Iterable[Json], *, schema_key: str) -> list[Offer]:
    """The tools that have a name; one without a schema takes no arguments."""
    return [
        Offer(name=tool["name"], schema=tool.get(schema_key) or {})
        for tool in tools
        if isinstance(tool.get("name"), str)
    ]


def parse(model: str) -> Script:
    """The script that ``model`` names; raises ``UnknownModel``."""
    if match := _ECHO.fullmatch(model):
        deltas, rate = match.groups()
        return Script(deltas=int(deltas), rate=int(rate) if rate else None)
    if match := _TOOLS.fullmatch(model):
        return Script(calls=int(match[1]))
    raise UnknownModel(model)


def answer(script: Script, *, turn: int, results: int, offers: Sequence[Offer]) -> Text | ToolCall:
    """The answer to a request of ``turn`` messages, ``results`` of them results of tools."""
    if script.calls is None:
        return Text(turn=turn, deltas=words(script.deltas))
    if results >= script.calls:
        return Text(turn=turn, deltas=("All", " done", "."))
    if not offers:
        return Text(turn=turn, deltas=("No", " tool", " was", " offered", "."))
    name, arguments = _call(offers, results)
    text = msgspec.json.encode(arguments).decode()
    fragments = tuple(text[at : at + _FRAGMENT] for at in range(0, len(text), _FRAGMENT))
    return ToolCall(turn=turn, name=name, deltas=fragments)


@lru_cache(maxsize=16)
def words(count: int) -> tuple[str, ...]:
    """``count`` deltas of plain prose in paragraphs, about four letters each.

    Paragraphs are numbered: an agent may well cut a model that repeats itself.
    """
    return tuple(islice(_prose(), count))


def _prose() -> Iterator[str]:
    for number in numbers(2):
        yield from _SENTENCE * 6
        yield f"\n\n{number}. "


def _call(offers: Sequence[Offer], results: int) -> tuple[str, Json]:
    """Name and arguments: ``bash`` if it is there, else the first tool with what it requires.

    No command comes twice: an agent may well refuse a call that is made again and again.
    """
    if any(offer.name == "bash" for offer in offers):
        return "bash", {"command": f"echo hi {results}" if results else "echo hi"}
    first = offers[0]
    properties = first.schema.get("properties", {})
    required = first.schema.get("required", ())
    return first.name, {name: _example(properties.get(name, {})) for name in required}


def _example(schema: Json) -> Any:
    """The simplest value that fits a parameter's JSON schema."""
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "integer" | "number"}:
            return 1
        case {"type": "boolean"}:
            return False
        case {"type": "array"}:
            return []
        case {"type": "object"}:
            return {}
        case _:
            return "echo hi"
