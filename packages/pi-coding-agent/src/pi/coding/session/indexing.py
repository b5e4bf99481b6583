"""Collects what a session index has: the facts about the entries that a context does not need."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import is_
from pathlib import Path
from typing import NamedTuple

from pi.ai.messages import AssistantMessage, UserMessage
from pi.coding.session.context import context_path, thinking_level_at
from pi.coding.session.counts import EntryCounts
from pi.coding.session.display import count_displayed
from pi.coding.session.earlier import (
    FORMAT,
    KEPT_DAYS,
    EarlierFacts,
    EntryIds,
    remove_old,
    sample,
    save_index,
)
from pi.coding.session.entries import MessageEntry, ModelChange
from pi.coding.session.log import ANNOTATING, MAX_PROMPTS, Annotations, SessionLog
from pi.coding.session.reading import SessionFile
from pi.coding.session.tool_selection import declared_tools


def store_index(
    log: SessionLog,
    content: SessionFile,
    stored: Sequence[bytes],
    restored: Sequence[bytes],
    path: Path,
    folder: Path,
    *,
    now: float,
    min_bytes: int,
    shown: int,
) -> bool:
    """Write the index of a session that was just opened; returns whether there is a new one.

    ``stored`` are the lines that were read, as they are in the file, ``restored`` the same lines
    with their images. There is none if too little would be left out, or if the file is damaged in
    a way that makes the entries of its end change those before.
    """
    earlier = log.tree.earlier
    known = None if earlier is None else earlier.facts
    begin = 0 if known is None else known.end
    first = 0 if known is None else known.count
    status = path.stat()
    if begin + sum(map(len, stored)) != status.st_size or not stored[-1].endswith(b"\n"):
        return False
    start = _context_start(log, shown)
    if start is None or start <= first or log.tree.first != first:
        return False
    spans = _spans(content.lines, stored, restored, begin)
    if spans is None or spans[start - first].offset - begin < min_bytes:
        return False
    if not log.tree.is_in_order:
        return False

    end = spans[start - first].offset
    earlier_ids = EntryIds() if earlier is None else earlier.ids
    outlines = log.tree.outlines
    annotations = Annotations(dict(known.labels), known.name) if known else Annotations()
    custom_types = set(known.custom_types) if known else set()
    missing = list(known.missing_parents) if known else []
    for position in range(first, start):
        outline = outlines[position]
        if outline.type in ANNOTATING:
            annotations.read(log.at(position))
        elif outline.type == "custom":
            custom_types.add(str(log.json(position).get("customType")))
        parent_id = outline.parent_id
        if parent_id and log.tree.last_in_memory(parent_id) < 0 and parent_id not in earlier_ids:
            missing.append(parent_id)
    ids = earlier_ids.with_ids(outlines[position].id for position in range(first, start))
    counts = EntryCounts(log)
    counts.count_to(start)
    above = _Above(log, start, spans, first)
    facts = EarlierFacts(
        format=FORMAT,
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        sampled=sample(path, end),
        end=end,
        count=start,
        short_ids=len(ids.short),
        long_ids=len(ids.long),
        missing_parents=tuple(missing),
        name=annotations.name,
        labels=tuple(annotations.labels.items()),
        custom_types=tuple(sorted(custom_types)),
        totals=counts.totals,
        above=above.id,
        level=above.level,
        tools=above.tools,
        displayed=above.displayed,
        customs=tuple(above.customs),
        prompts=_prompts(log, start, spans, known),
    )
    remove_old(folder, now - KEPT_DAYS * 24 * 3600)
    return save_index(folder, path, facts, ids)


class _Above:
    """The branch above the first entry of the context."""

    def __init__(self, log: SessionLog, start: int, spans: Sequence[_Span], first: int) -> None:
        self.id = ""
        self.level: str | None = None
        self.tools: tuple[str, ...] | None = None
        self.displayed = 0
        self.customs: list[tuple[str, int, int]] = []
        position = last = start
        for position in log.tree.upwards_in_memory(log.leaf):
            if position < start:
                break
            last = position
        if position >= start:
            if (facts := log.tree.facts_above(last)) is not None:
                self.id, self.level, self.displayed = facts.above, facts.level, facts.displayed
                self.tools, self.customs = facts.tools, list(facts.customs)
            return
        self.id = log.tree.outline(position).id
        self.level = thinking_level_at(log, position)
        self.tools = declared_tools(log, position)
        self.displayed = count_displayed(log, position)
        new = []
        for custom in log.tree.upwards_in_memory(position):
            last = custom
            if log.tree.outline(custom).type == "custom":
                kind = str(log.json(custom).get("customType"))
                new.append((kind, *spans[custom - first]))
        facts = log.tree.facts_above(last)
        self.customs = [*(facts.customs if facts else ()), *reversed(new)]


def _context_start(log: SessionLog, shown: int) -> int | None:
    """Return the first entry that the start needs.

    It needs the context at the leaf, the choice of its model, and ``shown`` entries for the screen.
    ``None`` without a compaction: then every entry of the branch is needed.
    """
    path = context_path(log)
    if path.compaction is None:
        return None
    start = path.visible[0]
    outlines = log.tree.outlines
    has_model = False
    for number, position in enumerate(log.tree.upwards(log.leaf)):
        if has_model and number >= shown:
            return min(start, position)
        if outlines[position].type == "model_change" or log.may_be_answer(position):
            match log.at(position):
                case ModelChange() | MessageEntry(message=AssistantMessage()):
                    has_model = True
    return None


def _prompts(
    log: SessionLog, start: int, spans: Sequence[_Span], known: EarlierFacts | None
) -> tuple[tuple[int, int], ...]:
    """Return where the last messages of the user before ``start`` are."""
    first = 0 if known is None else known.count
    prompts: list[tuple[int, int]] = []
    for position in range(start - 1, first - 1, -1):
        if len(prompts) == MAX_PROMPTS:
            break
        if b'"user"' not in log.line(position):
            continue
        entry = log.at(position)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            prompts.append(spans[position - first])
    prompts.reverse()
    return (*(known.prompts if known else ()), *prompts)[-MAX_PROMPTS:]


class _Span(NamedTuple):
    """The bytes of a line in the file."""

    offset: int
    length: int


def _spans(
    lines: Sequence[bytes], stored: Sequence[bytes], restored: Sequence[bytes], begin: int
) -> list[_Span] | None:
    """Return where each entry is in the file; ``None`` if a line has two entries."""
    skipped = len(stored) - len(lines)
    if skipped in (0, 1) and all(map(is_, lines, restored[skipped:])):  # at most the header
        offsets = accumulate(map(len, stored), initial=begin)
        return list(map(_Span, offsets, map(len, stored)))[skipped:]
    spans: list[_Span] = []
    offset = begin
    for stored_line, line in zip(stored, restored, strict=True):
        if len(spans) < len(lines) and lines[len(spans)] is line:
            spans.append(_Span(offset, len(stored_line)))
        offset += len(stored_line)
    return spans if len(spans) == len(lines) else None
