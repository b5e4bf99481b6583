"""A branch as sections of text, for every form that is read from top to bottom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias

from pi.agent.compaction.boundaries import readable_summary
from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import Record
from pi.coding.export.tool_facts import changes, subject, text_argument
from pi.coding.export.totals import model_name
from pi.coding.export.transcript import Node, Transcript, said, unpadded
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)

View: TypeAlias = Literal["screen", "model"]
"""Whose: the person's, or the model's, who is shown other messages of extensions and commands."""


class Part(Record):
    """A piece of a section."""

    kind: Literal["words", "thinking", "call", "result", "error"]
    text: str
    title: str = ""
    language: str = ""


class Section(Record):
    """What one message says, with the results of its tool calls."""

    heading: str
    parts: tuple[Part, ...]


def sections(transcript: Transcript, view: View) -> Iterator[Section]:
    """The branch at which the session stands; results come directly after their calls."""
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
    """Writes nodes of a transcript; results that are not on ``branch`` are left out."""

    def __init__(self, transcript: Transcript, branch: frozenset[int]) -> None:
        self._nodes = transcript.nodes
        self._results = transcript.results
        self._branch = branch

    def section(self, number: int) -> Section:
        """What a node says."""
        match self._nodes[number].message:
            case UserMessage(content=content):
                section = _section("User", said(content))
            case AssistantMessage() as answer:
                heading = f"Assistant ({model_name(answer.provider, answer.model)})"
                section = Section(heading=heading, parts=tuple(self._answer(number, answer)))
            case ToolResultMessage() as result:
                section = Section(heading=f"Tool {result.tool_name}", parts=(_result(result),))
            case BashExecution() as ran:
                section = Section(heading="User ran a command", parts=_command(ran))
            case CustomMessage(custom_type=kind, content=content):
                section = _section(f"Message of {kind}", said(content))
            case CompactionSummaryMessage(summary=summary, tokens_before=tokens):
                section = _section(f"Compaction of {tokens:,} tokens", readable_summary(summary))
            case BranchSummaryMessage(summary=summary):
                section = _section("Summary of a branch that was left", readable_summary(summary))
            case SystemMessage() | None:
                section = Section(heading="", parts=())
        return section

    def _answer(self, number: int, answer: AssistantMessage) -> Iterator[Part]:
        for position, block in enumerate(answer.content):
            match block:
                case Text(text=text) if unpadded(text):
                    yield Part(kind="words", text=unpadded(text))
                case Thinking(thinking=thought) if unpadded(thought):
                    yield Part(kind="thinking", text=unpadded(thought))
                case ToolCall():
                    yield _call(block)
                    for result in self._results.get((number, position), ()):
                        message = self._nodes[result].message
                        if result in self._branch and isinstance(message, ToolResultMessage):
                            yield _result(message)
        if answer.error_message:
            yield Part(kind="error", text=unpadded(answer.error_message))


def _section(heading: str, text: str) -> Section:
    words = unpadded(text)
    return Section(heading=heading, parts=(Part(kind="words", text=words),) if words else ())


def _call(call: ToolCall) -> Part:
    title = f"{call.name} {subject(call)}".rstrip()
    if call.name in ("bash", "powershell") and (command := text_argument(call, "command")):
        return Part(kind="call", title=title, text=unpadded(command), language=call.name)
    arguments = json.dumps(call.arguments, indent=2, ensure_ascii=False)
    return Part(kind="call", title=title, text=arguments, language="json")


def _result(message: ToolResultMessage) -> Part:
    words = unpadded(said(message.content)) or "(no output)"
    if message.is_error:
        return Part(kind="error", text=words)
    if made := changes(message):
        return Part(kind="result", text=made, language="diff")
    return Part(kind="result", text=words)


def _command(ran: BashExecution) -> tuple[Part, ...]:
    output = unpadded(ran.output) or "(no output)"
    if ran.cancelled:
        output += "\n\n(command cancelled)"
    elif ran.exit_code:
        output += f"\n\nCommand exited with code {ran.exit_code}"
    return (
        Part(kind="call", title="bash", text=unpadded(ran.command), language="bash"),
        Part(kind="result", text=output),
    )
