"""Text about points, planned changes and coverage: rows, diffs and sizes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from pi.batteries.rewind.history import Coverage, History
from pi.batteries.rewind.planning import Plan, PlannedFile
from pi.batteries.rewind.states import FileState
from pi.batteries.rewind.timeline import Point
from pi.extension import Record, one_line

MAX_DIFF_BYTES = 256 * 1024
"""Size of both sides together beyond which no diff of a file is shown."""
MAX_DIFF_LINES = 2000
"""Maximum of lines of all diffs together."""


class PointRow(Record):
    """A point and the changes until the next one."""

    point: Point
    files: int = 0
    bytes: int = 0
    """Size of the changed files at the point."""


def row_text(row: PointRow) -> str:
    """A point in one line."""
    return f"{clock_text(row.point.time_ms)}  {title(row.point):<50}  {changed_text(row)}"


def changed_text(row: PointRow) -> str:
    """Number and size of the files that changed after a point."""
    if not row.files:
        return "no changes"
    return f"{files_text(row.files)}, {size_text(row.bytes)}"


def clock_text(time_ms: int) -> str:
    """A local time."""
    import time  # deferred: only listings show times

    return time.strftime("%d %b %H:%M", time.localtime(time_ms / 1000))


def title(point: Point) -> str:
    """The prompt after a point, shortened; marked if the point was saved by a rewind."""
    prompt = one_line(point.prompt) or "(no text)"
    prompt = prompt if len(prompt) <= 50 else f"{prompt[:49]}…"
    return f"↶ saved before going to: {prompt}" if point.saved_by else prompt


def file_row(file: PlannedFile) -> str:
    """One line for a file: action, name, sizes, and why it is not restored."""
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
    if _only_mode(now, then):
        return f"  {now.mode:o} → {then.mode:o}" if now and then else ""
    parts = [_describe_state(state) for state in (now, then) if state is not None]
    return f"  {' → '.join(parts)}" if any(parts) else ""


def _only_mode(now: FileState | None, then: FileState | None) -> bool:
    if now is None or then is None or now.kind != then.kind or now.mode == then.mode:
        return False
    return now.kind == "folder" or now.hash == then.hash


def _describe_state(state: FileState) -> str:
    if state.kind == "file":
        return size_text(state.size)
    return f"link to {one_line(state.target)}" if state.kind == "link" else "folder"


def summary(plan: Plan) -> str:
    """The numbers of files by action, in one line."""
    counts = {"create": 0, "change": 0, "remove": 0}
    for file in plan.files:
        if not file.problem:
            action = _action(file).strip()
            counts[action if action in counts else "change"] += 1
    parts = [f"{count} to {action}" for action, count in counts.items() if count]
    if plan.problems:
        parts.append(f"{len(plan.problems)} cannot be restored")
    return ", ".join(parts) or "no file changes"


def diff_lines(history: History, files: Sequence[PlannedFile]) -> list[str]:
    """Unified diffs from the present to the planned contents. Blocks."""
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
    states = [
        state for state in (file.now, file.then) if state is not None and state.kind == "file"
    ]
    if not states or (len(states) == 2 and states[0].hash == states[1].hash):
        return []
    if sum(state.size for state in states) > MAX_DIFF_BYTES:
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
    """A line without control characters and tabs."""
    return "".join(char if char.isprintable() else "·" for char in line.replace("\t", "    "))


# Coverage and sizes ------------------------------------------------------------------------------


def coverage_text(coverage: Coverage) -> str:
    """Which files are covered, in one line."""
    if coverage.refused:
        why = f"{coverage.refused[:1].upper()}{coverage.refused[1:]}"
        rest = "only files that edit and write change can be restored, not what commands change."
        return f"{why}, so {rest}"
    missing = [
        *_format_paths(
            coverage.left_out, "folder beyond rewind.maxFiles", "folders beyond rewind.maxFiles"
        ),
        *_format_paths(coverage.too_large, "file larger than rewind.maxFileBytes"),
        *_format_paths(coverage.over_budget, "file beyond rewind.maxBytes or rewind.storeBytes"),
        *_format_paths(
            coverage.unreadable, "folder that cannot be read", "folders that cannot be read"
        ),
        *([f"pipes and devices: {coverage.special}"] if coverage.special else []),
        *([f"ignored files and folders: {coverage.ignored}"] if coverage.ignored else []),
    ]
    text = f"Covers {files_text(coverage.files)}, {size_text(coverage.bytes)}"
    return f"{text}. Not covered: {'; '.join(missing)}." if missing else f"{text}."


def _format_paths(names: Iterable[str], one: str, many: str = "") -> list[str]:
    names = list(names)
    if not names:
        return []
    sample = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    noun = one if len(names) == 1 else many or one.replace("file", "files", 1)
    return [f"{len(names):,} {noun} ({sample})"]


def size_text(size: int) -> str:
    """A size in readable units."""
    if size < 1024:
        return f"{size} B"
    amount = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1023.95 or unit == "GiB":
            break
    return f"{amount:.1f} {unit}"


def files_text(count: int) -> str:
    """A number of files."""
    return "1 file" if count == 1 else f"{count:,} files"
