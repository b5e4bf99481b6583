"""Renders the current branch as sections of Markdown or plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import pyromark

from pi.agent.compaction.text import readable_summary
from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import Record
from pi.base.terminal_text import sanitise
from pi.coding.export.outline import changes, subject, text_argument
from pi.coding.export.transcript import (
    Node,
    Transcript,
    content_text,
    dollars,
    model_name,
    strip_blank_lines,
)
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)

View: TypeAlias = Literal["screen", "model"]
"""What the screen shows, or what the model sees; extension messages and commands differ."""


class Part(Record):
    """A piece of a section."""

    kind: Literal["words", "thinking", "call", "result", "error"]
    text: str
    title: str = ""
    language: str = ""


class Section(Record):
    """A message with the results of its tool calls."""

    heading: str
    parts: tuple[Part, ...]


def sections(transcript: Transcript, view: View) -> Iterator[Section]:
    """Yield the sections of the current branch; results come directly after their calls."""
    branch = transcript.branch()
    writer = _Writer(transcript, frozenset(branch))
    for number in branch:
        node = transcript.nodes[number]
        if node.call is None and _is_shown(node, view):
            section = writer.section(number)
            if section.parts:
                yield section


def _is_shown(node: Node, view: View) -> bool:
    match node.message:
        case None | SystemMessage():
            return False
        case CustomMessage(display=display):
            return display or view == "model"
        case BashExecution(exclude_from_context=True):
            return view == "screen"
        case _:
            return True


class _Writer:
    """Converts nodes to sections; results that are not on ``branch`` are omitted."""

    def __init__(self, transcript: Transcript, branch: frozenset[int]) -> None:
        self._nodes = transcript.nodes
        self._results = transcript.results
        self._branch = branch

    def section(self, number: int) -> Section:
        """Return the section of a node."""
        match self._nodes[number].message:
            case UserMessage(content=content):
                section = _make_section("User", content_text(content))
            case AssistantMessage() as answer:
                heading = f"Assistant ({model_name(answer.provider, answer.model)})"
                section = Section(heading=heading, parts=tuple(self._answer_parts(number, answer)))
            case ToolResultMessage() as result:
                section = Section(heading=f"Tool {result.tool_name}", parts=(_result_part(result),))
            case BashExecution() as execution:
                section = Section(heading="User ran a command", parts=_command_parts(execution))
            case CustomMessage(custom_type=kind, content=content):
                section = _make_section(f"Message of {kind}", content_text(content))
            case CompactionSummaryMessage(summary=summary, tokens_before=tokens):
                section = _make_section(
                    f"Compaction of {tokens:,} tokens", readable_summary(summary)
                )
            case BranchSummaryMessage(summary=summary):
                section = _make_section(
                    "Summary of a branch that was left", readable_summary(summary)
                )
            case SystemMessage() | None:
                section = Section(heading="", parts=())
        return section

    def _answer_parts(self, number: int, answer: AssistantMessage) -> Iterator[Part]:
        for position, block in enumerate(answer.content):
            match block:
                case Text(text=text) if strip_blank_lines(text):
                    yield Part(kind="words", text=strip_blank_lines(text))
                case Thinking(thinking=thought) if strip_blank_lines(thought):
                    yield Part(kind="thinking", text=strip_blank_lines(thought))
                case ToolCall():
                    yield _call_part(block)
                    for result in self._results.get((number, position), ()):
                        message = self._nodes[result].message
                        if result in self._branch and isinstance(message, ToolResultMessage):
                            yield _result_part(message)
        if answer.error_message:
            yield Part(kind="error", text=strip_blank_lines(answer.error_message))


def _make_section(heading: str, text: str) -> Section:
    body = strip_blank_lines(text)
    return Section(heading=heading, parts=(Part(kind="words", text=body),) if body else ())


def _call_part(call: ToolCall) -> Part:
    title = f"{call.name} {subject(call)}".rstrip()
    if call.name in ("bash", "powershell") and (command := text_argument(call, "command")):
        return Part(kind="call", title=title, text=strip_blank_lines(command), language=call.name)
    arguments = json.dumps(call.arguments, indent=2, ensure_ascii=False)
    return Part(kind="call", title=title, text=arguments, language="json")


def _result_part(message: ToolResultMessage) -> Part:
    output = strip_blank_lines(content_text(message.content)) or "(no output)"
    if message.is_error:
        return Part(kind="error", text=output)
    if diff := changes(message):
        return Part(kind="result", text=diff, language="diff")
    return Part(kind="result", text=output)


def _command_parts(execution: BashExecution) -> tuple[Part, ...]:
    output = strip_blank_lines(execution.output) or "(no output)"
    if execution.cancelled:
        output += "\n\n(command cancelled)"
    elif execution.exit_code:
        output += f"\n\nCommand exited with code {execution.exit_code}"
    return (
        Part(kind="call", title="bash", text=strip_blank_lines(execution.command), language="bash"),
        Part(kind="result", text=output),
    )


_BEYOND = "\n\n."
"""A paragraph appended as a probe: a code block that includes it was not closed."""
_FENCE = re.compile(rb"`+|~+")
_FENCES = re.compile(r"`{3,}")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&])")


def render_markdown(transcript: Transcript) -> str:
    """Render the conversation as on the screen, as Markdown without active HTML."""
    paragraphs = [
        *_markdown_heading(transcript),
        *map(_markdown_section, sections(transcript, "screen")),
    ]
    return "\n\n".join(paragraphs) + "\n"


def _markdown_heading(transcript: Transcript) -> Iterator[str]:
    header, spent = transcript.header, transcript.totals.all
    yield f"# {_escape(transcript.title)}"
    facts = {
        "Session": header.id,
        "Started": header.timestamp,
        "Directory": header.cwd,
        "Model": transcript.model,
        "Cost": f"{dollars(spent)}, {spent.usage.total_tokens:,} tokens",
    }
    yield "\n".join(f"- {name}: {_escape(value)}" for name, value in facts.items() if value)
    if transcript.instructions.prompt:
        yield f"## System prompt\n\n{_fence(transcript.instructions.prompt)}"
    if tools := transcript.instructions.tools:
        rows = (f"- {_escape(tool.name)}: {_escape(tool.description)}" for tool in tools)
        yield "\n".join(("## Tools\n", *rows))


def _markdown_section(section: Section) -> str:
    return "\n\n".join((f"## {_escape(section.heading)}", *map(_markdown_part, section.parts)))


def _markdown_part(part: Part) -> str:
    match part.kind:
        case "words":
            return _make_harmless(part.text)
        case "thinking":
            return "> *Thinking*\n>\n> " + _make_harmless(part.text).replace("\n", "\n> ")
        case "call":
            return f"**{_escape(part.title)}**\n\n{_fence(part.text, part.language)}"
        case "result":
            return _fence(part.text, part.language)
        case "error":
            return f"**Error**\n\n{_fence(part.text)}"


def _fence(text: str, language: str = "") -> str:
    """Return a code block with a fence that is longer than any in the text."""
    text = sanitise(text)
    longest = max((len(run) for run in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _escape(text: str) -> str:
    """Return the text on one line with Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(sanitise(text).split()))


def _make_harmless(text: str) -> str:
    """Return foreign Markdown with HTML escaped and its last code block closed."""
    return _close_fence(_without_html(sanitise(text)))


def _without_html(markdown: str) -> str:
    # Escaping may expose more HTML. The loop ends, because each pass leaves fewer "<".
    while html_ranges := _html_in(markdown):
        source = bytearray(markdown.encode())
        for html_range in reversed(html_ranges):
            source[html_range] = source[html_range].replace(b"<", b"&lt;")
        markdown = source.decode()
    return markdown


def _html_in(markdown: str) -> list[slice]:
    return [
        slice(position["start"], position["end"])
        for event, position in pyromark.events_with_range(markdown)
        if "Html" in event or "InlineHtml" in event
    ]


def _close_fence(markdown: str) -> str:
    """Close the last code block, in which an answer may have been cut off."""
    followed = (markdown + _BEYOND).encode()
    for event, position in pyromark.events_with_range(markdown + _BEYOND):
        match event:
            case {"Start": {"CodeBlock": {"Fenced": _}}} if position["end"] == len(followed):
                fence = _FENCE.match(followed, position["start"])
                return f"{markdown}\n{fence[0].decode()}" if fence else markdown
    return markdown


NOTHING_TO_DUMP = "No messages to dump yet."
"""Message to the user when the text is empty."""

_NAMES = {"thinking": "Thinking", "result": "Result", "error": "Error"}


def render_text(transcript: Transcript) -> str:
    """Render instructions and conversation as text for ``/dump``; empty without messages."""
    rendered = [_plain_section(section) for section in sections(transcript, "model")]
    if not rendered:
        return ""
    return sanitise("\n\n".join((*_plain_heading(transcript), *rendered))) + "\n"


def _plain_heading(transcript: Transcript) -> Iterator[str]:
    instructions = transcript.instructions
    if instructions.prompt:
        yield _with_heading("System prompt", instructions.prompt)
    yield f"Model: {transcript.model or 'none'}\nThinking: {transcript.thinking_level}"
    if instructions.tools:
        yield _with_heading("Tools", "\n\n".join(map(_describe_tool, instructions.tools)))


def _describe_tool(tool: Tool) -> str:
    schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
    return f"{tool.name}: {tool.description}\n{schema}"


def _plain_section(section: Section) -> str:
    return _with_heading(section.heading, "\n\n".join(map(_plain_part, section.parts)))


def _plain_part(part: Part) -> str:
    match part.kind:
        case "words":
            return part.text
        case "call":
            return f"[{part.title}]\n{part.text}"
        case kind:
            return f"[{_NAMES[kind]}]\n{part.text}"


def _with_heading(heading: str, text: str) -> str:
    return f"=== {heading} ===\n\n{text}"
