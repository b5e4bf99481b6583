"""What a restoration would change: rows for every file, and their differences. Pure but reading."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from pi.batteries.rewind.history import History
from pi.batteries.rewind.recorder import size_text
from pi.batteries.rewind.restoring import Plan, PlannedFile
from pi.batteries.rewind.states import FileState
from pi.extension import one_line

MAX_DIFF_BYTES = 256 * 1024
"""Content of both sides of a file beyond which only the sizes are shown."""
MAX_DIFF_LINES = 2000
"""Lines of all differences together."""


def file_row(file: PlannedFile) -> str:
    """One file in one line: what happens to it, its name, and why not."""
    text = f"{_action(file)}  {one_line(file.path)}{_sizes(file)}"
    if file.problem:
        return f"{text} · stays: {file.problem}"
    return f"{text} · changed outside of pi" if file.is_foreign else text


def _action(file: PlannedFile) -> str:
    now, then = file.now, file.then
    if then is None:
        return "remove "
    if now is None:
        return "create "
    if now.kind != then.kind:
        return "replace"
    if now.kind == "file" and now.hash == then.hash:
        return "mode   "
    return "change " if now.kind != "folder" else "mode   "


def _sizes(file: PlannedFile) -> str:
    now, then = file.now, file.then
    if then is not None and now is not None and then.kind == now.kind and then.kind != "link":
        if now.mode != then.mode and (now.kind == "folder" or now.hash == then.hash):
            return f"  {now.mode:o} → {then.mode:o}"
    parts = [_described(state) for state in (now, then) if state is not None]
    return f"  {' → '.join(parts)}" if any(parts) else ""


def _described(state: FileState) -> str:
    if state.kind == "file":
        return size_text(state.size)
    return f"link to {one_line(state.target)}" if state.kind == "link" else "folder"


def summary(plan: Plan) -> str:
    """All files in one line."""
    counts = {"create": 0, "change": 0, "remove": 0}
    for each in plan.files:
        if not each.problem:
            action = _action(each).strip()
            counts[action if action in counts else "change"] += 1
    parts = [f"{count} to {action}" for action, count in counts.items() if count]
    if plan.problems:
        parts.append(f"{len(plan.problems)} cannot be restored")
    return ", ".join(parts) or "no file changes"


def diff_lines(history: History, files: Sequence[PlannedFile]) -> list[str]:
    """The differences from now to then. Blocks."""
    lines: list[str] = []
    for file in files:
        if file.problem:
            continue
        lines += _diff(history, file)
        if len(lines) > MAX_DIFF_LINES:
            return [*lines[:MAX_DIFF_LINES], "… more is not shown"]
    return lines


def _diff(history: History, file: PlannedFile) -> list[str]:
    name = one_line(file.path)
    states = [each for each in (file.now, file.then) if each is not None and each.kind == "file"]
    if not states or (len(states) == 2 and states[0].hash == states[1].hash):
        return []
    if sum(each.size for each in states) > MAX_DIFF_BYTES:
        return [f"{name}: too large to show"]
    texts = [_text(history, state) for state in (file.now, file.then)]
    if None in texts:
        return [f"{name}: not a text"]
    now, then = (text.splitlines() for text in texts if text is not None)
    return [
        _harmless(line)
        for line in difflib.unified_diff(now, then, f"now/{name}", f"then/{name}", lineterm="")
    ]


def _text(history: History, state: FileState | None) -> str | None:
    if state is None or state.kind != "file":
        return ""
    data = history.packs.get(state.hash)
    if data is None or b"\0" in data[:8000]:
        return None
    return data.decode("utf-8", "replace")


def _harmless(line: str) -> str:
    """A line that changes nothing but its own row of a terminal."""
    return "".join(char if char.isprintable() else "·" for char in line.replace("\t", "    "))
