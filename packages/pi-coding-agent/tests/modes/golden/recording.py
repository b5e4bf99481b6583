"""Recorded conversations of the original with its clients, as steps. Pure but for reading files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pi.base.records import Record

FOLDER = Path(__file__).parent / "recordings"
LAB = "/home/user/lab"
"""Where the recordings were made."""
SESSIONS = f"{LAB}/home/.pi/agent/sessions/--tmp-h-compat-work-proj--"
SERVER = "http://127.0.0.1:18181"
"""Where the recorded models were."""

Json: TypeAlias = dict[str, Any]


class Sent(Record):
    """A line that the client sent."""

    line: str


class Got(Record):
    """A record that the client got."""

    record: Json


Step: TypeAlias = Sent | Got


def rpc_steps(name: str) -> list[Step]:
    """An RPC transcript."""
    lines = (FOLDER / "rpc" / f"{name}.log").read_text("utf-8").split("\n")
    return merged([_step(line) for line in lines if line])


def json_steps(name: str) -> list[Step]:
    """The output of one run in JSON mode."""
    lines = (FOLDER / "json" / f"{name}.jsonl").read_text("utf-8").split("\n")
    return merged([Got(record=json.loads(line)) for line in lines if line])


def _step(line: str) -> Step:
    if line.startswith("> "):
        return Sent(line=line[2:])
    record = json.loads(line[2:])
    _without_spy(record)
    return Got(record=record)


def _without_spy(value: Any) -> None:
    """Forget the tool of an extension that watched one of the recordings."""
    if isinstance(value, dict):
        tools = value.get("toolsAdded")
        if isinstance(tools, list):
            value["toolsAdded"] = [tool for tool in tools if tool["name"] != "spy_tool"]
        for part in value.values():
            _without_spy(part)
    elif isinstance(value, list):
        for part in value:
            _without_spy(part)


def merged(steps: list[Step]) -> list[Step]:
    """The steps, with what a pipe delivered in pieces in one piece."""
    together: list[Step] = []
    for step in steps:
        last = together[-1] if together else None
        if isinstance(step, Got) and isinstance(last, Got):
            joined = joined_pieces(last.record, step.record)
            if joined is not None:
                together[-1] = Got(record=joined)
                continue
        together.append(step)
    return together


def joined_pieces(earlier: Json, later: Json) -> Json | None:
    """Two pieces of the same output as one; ``None`` when they are something else.

    Pipes are read as the system schedules it: where output is cut says nothing about pi.
    """
    kind = earlier["type"]
    if kind != later["type"]:
        return None
    if kind == "bash_execution_update" and earlier.get("id") == later.get("id"):
        return later | {"delta": earlier["delta"] + later["delta"]}
    if kind == "tool_execution_update" and earlier["toolCallId"] == later["toolCallId"]:
        # The output so far, each time; only the empty one at the beginning stands for itself.
        return later if earlier["partialResult"]["content"] else None
    return None


def says_nothing(record: Json) -> bool:
    """Whether a record is a delta without text, which pi does not emit."""
    event = record.get("assistantMessageEvent", {})
    return "delta" in event and not event["delta"]


def usages(steps: Sequence[Step]) -> list[Json]:
    """Every usage that a recording shows of its answers."""
    usages_seen: list[Json] = []
    for step in steps:
        if isinstance(step, Got) and step.record["type"].startswith("message_"):
            usage = step.record.get("usage") or step.record["message"].get("usage")
            if usage is not None and usage not in usages_seen:
                usages_seen.append(usage)
    return usages_seen
