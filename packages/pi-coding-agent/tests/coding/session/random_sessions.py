"""Random sessions: the entries that are appended, and the moves of the leaf in between."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st
from msgspec import UNSET

from pi.ai.messages import SystemMessage, Tool
from pi.base.records import Record
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    KnownEntry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
)
from pi.coding.session.log import SessionLog
from tests.coding.session.sessions import answer, result, user

texts = st.text(max_size=8)
numbers = st.integers(0, 1_000)
"""A number selects one of the entries that exist when its step is played."""


class Append(Record):
    """Append an entry; ``target`` selects the entry that it refers to, if any."""

    draft: Any
    target: int = 0


class Move(Record):
    """Move the leaf to an entry; ``None``: before the first one."""

    target: int | None


Step: TypeAlias = Append | Move

contents = texts | st.lists(texts, max_size=2).map(
    lambda texts: [{"type": "text", "text": word} for word in texts]
)
drafts = st.one_of(
    st.builds(user, texts),
    st.builds(answer, texts, stop_reason=st.sampled_from(["stop", "error", "aborted"])),
    st.builds(result, texts, texts),
    texts.map(lambda text: MessageEntry(message=BashExecution(command=text, output=text))),
    texts.map(lambda text: MessageEntry(message=SystemMessage(content=text, sections={"a": None}))),
    st.builds(ModelChange, provider=texts, model_id=texts),
    st.builds(ThinkingLevelChange, thinking_level=texts),
    st.builds(Custom, custom_type=texts, data=st.none() | numbers),
    st.builds(CustomMessageEntry, custom_type=texts, content=texts, display=st.booleans()),
    st.builds(BranchSummary, from_id=texts, summary=texts),
    st.builds(SessionInfo, name=texts),
    st.builds(Label, target_id=st.just(""), label=texts | st.just(UNSET)),
    st.builds(
        ContextEdit,
        target_id=st.just(""),
        replacement=st.none() | st.builds(lambda content: {"content": content}, contents),
    ),
    st.builds(
        Compaction,
        summary=texts,
        first_kept_id=st.just(""),
        tokens_before=numbers,
        system_message=st.just(UNSET)
        | st.builds(
            SystemMessage,
            content=texts,
            tools_added=st.just((Tool(name="t", description="", parameters={}),)),
        ),
    ),
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Append, draft=drafts, target=numbers),
    st.builds(Append, draft=drafts, target=numbers),
    st.builds(Move, target=st.none() | numbers),
)
stories = st.lists(steps, max_size=25)


def play(log: SessionLog, step: Step) -> None:
    """Apply a step to a log."""
    outlines = log.tree.outlines
    some = outlines[(step.target or 0) % len(outlines)].id if outlines else "none"
    match step:
        case Move(target=None):
            log.move_to(None)
        case Move():
            if outlines:
                log.move_to(some)
        case Append(draft=draft):
            log.append(about(draft, some))


def about(draft: KnownEntry, id: str) -> KnownEntry:
    match draft:
        case Label(label=label):
            return Label(target_id=id, label=label)
        case ContextEdit(replacement=replacement):
            return ContextEdit(target_id=id, replacement=replacement)
        case Compaction():
            return Compaction(
                summary=draft.summary,
                first_kept_id=id,
                tokens_before=draft.tokens_before,
                system_message=draft.system_message,
            )
        case _:
            return draft
