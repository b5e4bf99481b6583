"""Orders of events, as lines that can be compared; and where the recorded ones come from.

``python -m tests.agent.golden.orders FOLDER`` makes ``orders.json`` from recorded RPC transcripts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("orders.json")

SCENES = {
    "a plain turn": ("conversation-steer-followup-abort-bash.log", "r1"),
    "a second turn": ("conversation-steer-followup-abort-bash.log", "r16"),
    "tools, steering and a follow-up": ("conversation-steer-followup-abort-bash.log", "r2"),
    "an abort while streaming": ("conversation-steer-followup-abort-bash.log", "r10"),
    "an abort during tools": ("abort-during-tools-images.log", "r1"),
    "all steering in one turn": ("abort-during-tools-images.log", "r2"),
    "a retry": ("retries-errors-bad-tools.log", "r1"),
    "a retry that is cancelled": ("retries-errors-bad-tools.log", "r3"),
    "a retry after half an answer": ("retries-errors-bad-tools.log", "r5"),
    "an answer that is cut off": ("retries-errors-bad-tools.log", "r6"),
    "calls that cannot run": ("retries-errors-bad-tools.log", "r7"),
    "a failure": ("retries-errors-bad-tools.log", "r8"),
    "calls that hooks refuse and change": ("extension-hook-results.log", "r3"),
    "a message of the application's own": ("extension-hook-results.log", "r4"),
    "drafts at the end of a turn": ("extension-hook-results.log", "r8"),
    "drafts before settling": ("extension-hook-results.log", "r9"),
    "a tool that ends the run": ("extension-ui-and-tree.log", "r21"),
    "a changed set of tools": ("extension-ui-and-tree.log", "r19"),
    "a compaction at the threshold": ("compaction-fork-clone-switch.log", "r10"),
    "an overflow": ("compaction-fork-clone-switch.log", "r12"),
}
"""Name of a scene: the transcript, and the command that starts it."""

OF_THE_SESSION = {"response", "thinking_level_changed"}
"""What is emitted beside the events of a run."""

Event = dict[str, Any]


def order(events: Iterable[Event]) -> list[str]:
    """One line per event; the updates of one answer are one line."""
    calls: dict[str, int] = {}
    lines: list[str] = []
    for event in events:
        if event["type"] in OF_THE_SESSION:
            continue
        line = _line(event, calls)
        if line != "message_update" or lines[-1] != line:
            lines.append(line)
    return lines


def _line(event: Event, calls: dict[str, int]) -> str:
    detail: list[object] = []
    match event:
        case {"toolCallId": id}:
            detail = [calls.setdefault(id, len(calls)), "failed" if event.get("isError") else ""]
        case {"type": "message_update" | "turn_end"}:
            pass
        case {"message": message}:
            detail = [_role(message)]
        case {"messages": messages, "willRetry": retry}:
            detail = ["will retry" if retry else "", ", ".join(map(_role, messages))]
        case {"steering": steering, "followUp": follow_up}:
            detail = [len(steering), len(follow_up)]
        case {"entry": entry}:
            detail = [entry["type"]]
        case {"reason": reason}:
            detail = [reason, "will retry" if event.get("willRetry") else ""]
        case {"attempt": attempt}:
            detail = [attempt, event.get("success", "")]
    return " ".join([event["type"], *(str(part) for part in detail if part != "")])


def _role(message: Event) -> str:
    reason = message.get("stopReason")
    return f"{message['role']} {reason}" if reason else str(message["role"])


def _scene(transcript: Path, command: str) -> Iterator[Event]:
    """The events from a command to the end of the run that it started."""
    begun = False
    for line in transcript.read_text("utf-8").splitlines():
        sent, event = line[0] == ">", json.loads(line[2:])
        begun = begun or (sent and event.get("id") == command)
        if begun and not sent:
            yield event
            if event["type"] == "agent_settled":
                return


def main(folder: Path) -> None:
    """Make the file with the recorded orders."""
    orders = {name: order(_scene(folder / log, id)) for name, (log, id) in SCENES.items()}
    RECORDED.write_text(json.dumps(orders, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
