"""The tasks of a batch: one JSON object per line."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.base.json_lines import BadLine, decode_line
from pi.base.records import Record

MAX_BYTES = 1024**3
MAX_ID = 200


class BatchProblem(PiError):
    """A batch or one of its tasks cannot be run; the message explains why."""


class BatchTask(Record):
    """One task. Without ``cwd`` and ``repo`` it runs in an empty folder of its own."""

    id: str
    prompt: str
    cwd: str | None = None
    """The folder to work in; relative to the folder of the task file."""
    repo: str | None = None
    """A git repository, as a path or URL, that is cloned instead of ``cwd``."""
    base_commit: str | None = field(default=None, name="base_commit")
    """The commit of ``repo`` to begin with; by default its HEAD."""
    model: str | None = None
    tools: tuple[str, ...] | None = None
    budget: float | None = None
    """The most that this task may cost, in US dollars."""
    setup: str | None = None
    """A shell command that prepares the folder."""
    check: str | None = None
    """A shell command whose exit code decides whether the task succeeded."""


class UnreadableTask(Record):
    """A line that is not a task; the tasks of other lines are run."""

    line: int
    reason: str


class TaskList(Record):
    """The tasks of a file, and its invalid lines."""

    tasks: tuple[BatchTask, ...]
    unreadable: tuple[UnreadableTask, ...] = ()


def read_tasks(path: Path) -> TaskList:
    """Read a task file; raises ``BatchProblem`` if missing or empty, or ``FileAccessError``."""
    if (data := read_if_exists(path, max_bytes=MAX_BYTES)) is None:
        raise BatchProblem(f"There is no file {path}.", hint="Name a file with one task per line.")
    task_list = parse_tasks(data, path.absolute().parent)
    if not task_list.tasks and not task_list.unreadable:
        raise BatchProblem(f"{path} has no tasks.", hint='A task is {"id": "a", "prompt": "…"}.')
    return task_list


def parse_tasks(data: bytes, folder: Path) -> TaskList:
    """Parse the lines of a task file; relative paths in it are relative to ``folder``."""
    tasks: dict[str, BatchTask] = {}
    lines: dict[str, int] = {}
    unreadable: list[UnreadableTask] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            task = _parse_task(line, folder)
            if task.id in tasks:
                raise ValueError(f"the id {task.id!r} is that of line {lines[task.id]} already")
        except ValueError as error:
            unreadable.append(UnreadableTask(line=number, reason=str(error)))
            continue
        tasks[task.id], lines[task.id] = task, number
    return TaskList(tasks=tuple(tasks.values()), unreadable=tuple(unreadable))


def _parse_task(line: bytes, folder: Path) -> BatchTask:
    try:
        value = decode_line(line)
    except BadLine as error:
        raise ValueError(error.reason) from error
    try:
        task = msgspec.convert(value, BatchTask)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    check_task(task)
    return _resolve_paths(task, folder)


def check_task(task: BatchTask) -> None:
    """Raise ``ValueError`` for a task that cannot be run."""
    if not task.id or len(task.id) > MAX_ID:
        raise ValueError(f"the id must have 1 to {MAX_ID} characters")
    if task.cwd is not None and task.repo is not None:
        raise ValueError("a task has either cwd or repo")
    if task.base_commit is not None and task.repo is None:
        raise ValueError("base_commit needs repo")
    if task.base_commit is not None and task.base_commit.startswith("-"):
        raise ValueError("base_commit is not a commit")
    if task.budget is not None and not 0 < task.budget < float("inf"):
        raise ValueError("budget is not an amount")


def check_tasks(tasks: Iterable[BatchTask | Mapping[str, Any]]) -> list[BatchTask]:
    """Return validated tasks with absolute paths; raises ``BatchProblem`` for the first bad one."""
    by_id: dict[str, BatchTask] = {}
    for row in tasks:
        try:
            task = row if isinstance(row, BatchTask) else msgspec.convert(row, BatchTask)
            check_task(task)
            if task.id in by_id:
                raise ValueError(f"the id {task.id!r} is that of another task already")
        except ValueError as error:  # includes ``msgspec.ValidationError``
            raise BatchProblem(f"Not a task: {error}.") from error
        by_id[task.id] = _resolve_paths(task, Path.cwd())
    return list(by_id.values())


def _resolve_paths(task: BatchTask, folder: Path) -> BatchTask:
    """Return the task with absolute paths; relative paths are relative to ``folder``."""
    cwd = None if task.cwd is None else str(folder / task.cwd)
    repo = task.repo
    if repo is not None and not is_url(repo):
        repo = str(folder / repo)
    return msgspec.structs.replace(task, cwd=cwd, repo=repo)


def is_url(repo: str) -> bool:
    """Whether git treats ``repo`` as a URL, ``https://host/x`` or ``host:x``, not as a path."""
    return re.match(r"[A-Za-z][\w+.-]*://|[\w][\w.@-]+:", repo) is not None


def select_tasks(
    tasks: Sequence[BatchTask],
    *,
    matching: str | None = None,
    part: str | None = None,
    shuffle: int | None = None,
) -> list[BatchTask]:
    """Select the tasks whose id matches a regular expression, shuffle them, then slice ``a:b``.

    ``shuffle`` is the seed. Raises ``BatchProblem`` for an invalid pattern or slice.
    """
    selected = list(tasks)
    if matching is not None:
        try:
            pattern = re.compile(matching)
        except re.error as error:
            raise BatchProblem(f"--filter {matching!r} is not a pattern: {error}") from error
        selected = [task for task in selected if pattern.search(task.id)]
    if shuffle is not None:
        random.Random(shuffle).shuffle(selected)
    if part is not None:
        if not (match := re.fullmatch(r"(-?\d+)?:(-?\d+)?", part)):
            raise BatchProblem(f"--slice {part!r} is not a range.", hint="For example 0:50.")
        first, last = (int(number) if number else None for number in match.groups())
        selected = selected[first:last]
    return selected


def file_names(ids: Iterable[str]) -> dict[str, str]:
    """Return a unique file name for each id, as similar to the id as possible."""
    names: dict[str, str] = {}
    used_names: set[str] = set()
    for id in ids:
        name = plain = re.sub(r"[^A-Za-z0-9._-]+", "-", id).strip(".-") or "task"
        number = 1
        while name.lower() in used_names:  # some file systems ignore case
            number += 1
            name = f"{plain}-{number}"
        used_names.add(name.lower())
        names[id] = name
    return names
