"""Sessions for tests: a location in a temporary directory, counted ids, short messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.ai.messages import AssistantMessage, Text, ToolCall, ToolResultMessage, UserMessage
from pi.base.clock import IdFactory
from pi.coding.session.entries import KnownEntry, MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation
from pi.testing import FakeClock

GOLDEN = Path(__file__).parent / "golden"
SESSIONS = sorted((GOLDEN / "sessions").glob("*.jsonl"))
CWD = "/home/user/lab/proj"


class Counted:
    """Replaces random bytes: each call returns the next number."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        self._calls += 1
        return self._calls.to_bytes(size, "big")


class Reports(list[str]):
    """The lines that were reported to the user."""

    def __call__(self, line: str) -> None:
        self.append(line)


def make_stamps() -> IdFactory:
    return IdFactory(clock=FakeClock(), random_bytes=Counted())


def make_location(directory: Path | None, reports: Reports | None = None) -> SessionLocation:
    return SessionLocation(directory, CWD, Reports() if reports is None else reports, make_stamps())


def user(text: str) -> MessageEntry:
    return MessageEntry(message=UserMessage(content=(Text(text=text),)))


def answer(text: str, *calls: str, stop_reason: Any = "stop") -> MessageEntry:
    requested = (ToolCall(id=id, name="read", arguments={}) for id in calls)
    content: tuple[Text | ToolCall, ...] = (Text(text=text), *requested)
    message = AssistantMessage(
        content=content, provider="mock", model="mock-r", stop_reason=stop_reason
    )
    return MessageEntry(message=message)


def result(call: str, text: str) -> MessageEntry:
    return MessageEntry(
        message=ToolResultMessage(tool_call_id=call, tool_name="read", content=(Text(text=text),))
    )


def append_all(log: SessionLog, *drafts: KnownEntry) -> list[str]:
    """Append the drafts; returns their ids."""
    return [log.append(draft).id for draft in drafts]


def ids(log: SessionLog) -> list[str]:
    """The ids of all entries, in the order of the file."""
    return [outline.id for outline in log.tree.outlines]


def on_disk(path: Path) -> list[dict[str, Any]]:
    """Every line of a session file that is JSON."""
    return list(_objects(path.read_bytes()))


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue
