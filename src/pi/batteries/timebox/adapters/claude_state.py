"""What the timebox remembers of a session of Claude Code: its hooks are a process each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pi.batteries.timebox.core.budget import TimeboxBudget
from pi.batteries.timebox.core.persist import (
    Active,
    TimeboxRecord,
    record_from_json,
    record_to_json,
)

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Prompts so far, and records, oldest first."""

    turns: int = 0
    records: tuple[TimeboxRecord, ...] = ()

    @property
    def budget(self) -> TimeboxBudget | None:
        """The one that the newest record tells, as it was left."""
        match self.records[-1:]:
            case (Active(budget),):
                return budget
            case _:
                return None

    def with_budget(self, budget: TimeboxBudget | None) -> State:
        """The newest record brought up to date: a nudge changes a budget without a new record."""
        if budget is None or self.budget is None:
            return self
        return replace(self, records=(*self.records[:-1], Active(budget)))


def state_file(folder: Path, session_id: str) -> Path:
    """Where the state of a session is; no id leads out of ``folder``."""
    return folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', session_id)}.json"


def load_state(file: Path) -> State:
    """What was saved; a session that nothing is known of has no budget."""
    try:
        data = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return State()
    match data:
        case {"turns": int(turns), "records": list(kept)}:
            records = (record_from_json(each) for each in kept)
            return State(turns=turns, records=tuple(each for each in records if each is not None))
        case _:
            return State()


def save_state(file: Path, state: State) -> None:
    """Keep ``state``; whoever reads meanwhile sees the old one or the new one, and all of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    data = {"turns": state.turns, "records": [record_to_json(each) for each in state.records]}
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(json.dumps(data), encoding="utf-8")
    fresh.replace(file)


def tokens_used(transcript: Path) -> int:
    """All tokens of a transcript; an answer of several lines is counted once."""
    answers: dict[object, int] = {}
    for number, line in enumerate(_lines(transcript)):
        match line:
            case {"type": "assistant", "message": {"usage": dict(usage), **message}}:
                counts = [v for k, v in usage.items() if k in _COUNTED and isinstance(v, int)]
                answers[message.get("id", number)] = sum(counts)
            case _:
                pass
    return sum(answers.values())


_COUNTED = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    }
)


def _lines(transcript: Path) -> Iterator[object]:
    try:
        with transcript.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue  # the last line may be half written
    except OSError:
        return  # there is none before the first answer
