"""A branch as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyromark

from pi.base.terminal_text import sanitise
from pi.coding.export.sections import Part, Section, sections
from pi.coding.export.totals import dollars
from pi.coding.export.transcript import Transcript

_BEYOND = "\n\n."
"""A paragraph after a text: code that reaches it was not closed."""
_FENCE = re.compile(rb"`+|~+")
_FENCES = re.compile(r"`{3,}")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")


def render_markdown(transcript: Transcript) -> str:
    """The conversation as the screen shows it, as Markdown in which no HTML is active."""
    paragraphs = [*_beginning(transcript), *map(_section, sections(transcript, "screen"))]
    return "\n\n".join(paragraphs) + "\n"


def _beginning(transcript: Transcript) -> Iterator[str]:
    header, spent = transcript.header, transcript.totals.all
    yield f"# {_escaped(transcript.title)}"
    facts = {
        "Session": header.id,
        "Started": header.timestamp,
        "Directory": header.cwd,
        "Model": transcript.model,
        "Cost": f"{dollars(spent)}, {spent.usage.total_tokens:,} tokens",
    }
    yield "\n".join(f"- {name}: {_escaped(value)}" for name, value in facts.items() if value)
    if transcript.instructions.prompt:
        yield f"## System prompt\n\n{_fenced(transcript.instructions.prompt)}"
    if tools := transcript.instructions.tools:
        rows = (f"- {_escaped(tool.name)}: {_escaped(tool.description)}" for tool in tools)
        yield "\n".join(("## Tools\n", *rows))


def _section(section: Section) -> str:
    return "\n\n".join((f"## {_escaped(section.heading)}", *map(_part, section.parts)))


def _part(part: Part) -> str:
    match part.kind:
        case "words":
            return _harmless(part.text)
        case "thinking":
            return "> *Thinking*\n>\n> " + _harmless(part.text).replace("\n", "\n> ")
        case "call":
            return f"**{_escaped(part.title)}**\n\n{_fenced(part.text, part.language)}"
        case "result":
            return _fenced(part.text, part.language)
        case "error":
            return f"**Error**\n\n{_fenced(part.text)}"


def _fenced(text: str, language: str = "") -> str:
    """A block of code, with a fence that is longer than any in the text."""
    text = sanitise(text)
    longest = max((len(run) for run in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    """Text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(sanitise(text).split()))


def _harmless(text: str) -> str:
    """Somebody's Markdown in which what looks like HTML is text, and which ends where it ends."""
    return _closed(_without_html(sanitise(text)))


def _without_html(markdown: str) -> str:
    # What has become text may have hidden more: each turn leaves fewer signs to look at.
    while places := _html_in(markdown):
        source = bytearray(markdown.encode())
        for place in reversed(places):
            source[place] = source[place].replace(b"<", b"&lt;")
        markdown = source.decode()
    return markdown


def _html_in(markdown: str) -> list[slice]:
    return [
        slice(place["start"], place["end"])
        for event, place in pyromark.events_with_range(markdown)
        if "Html" in event or "InlineHtml" in event
    ]


def _closed(markdown: str) -> str:
    """Markdown with an end to its last block of code, in which an answer may have been cut off."""
    followed = (markdown + _BEYOND).encode()
    for event, place in pyromark.events_with_range(markdown + _BEYOND):
        match event:
            case {"Start": {"CodeBlock": {"Fenced": _}}} if place["end"] == len(followed):
                fence = _FENCE.match(followed, place["start"])
                return f"{markdown}\n{fence[0].decode()}" if fence else markdown
    return markdown
