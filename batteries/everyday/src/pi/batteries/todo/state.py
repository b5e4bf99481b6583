"""The task list: phases with tasks, and the operations on it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pi.extension import Meta, Record, replace

Status: TypeAlias = Literal["pending", "in_progress", "completed", "abandoned"]
Operation: TypeAlias = Literal["init", "start", "done", "rm", "drop", "append", "view"]

CLOSED: frozenset[Status] = frozenset({"completed", "abandoned"})
MARKS: dict[Status, str] = {
    "pending": " ",
    "in_progress": "/",
    "completed": "x",
    "abandoned": "-",
}
"""Checkbox characters of the Markdown form."""
STATUS_OF_MARK: dict[str, Status] = {
    **{mark: status for status, mark in MARKS.items()},
    "": "pending",
    "X": "completed",
    ">": "in_progress",
    "~": "abandoned",
}
DEFAULT_PHASE = "Todos"
"""The phase of tasks above the first heading of an edited list."""


class Task(Record):
    """One task."""

    content: str
    status: Status = "pending"


class Phase(Record):
    """A named group of tasks."""

    name: str
    tasks: tuple[Task, ...] = ()


Items: TypeAlias = Annotated[tuple[str, ...], Meta(min_length=1)]


class PhaseItems(Record):
    """A phase of ``init``."""

    phase: str
    items: Items


class TodoOp(Record):
    """One operation of a batch."""

    op: Operation
    list: tuple[PhaseItems, ...] | None = None
    task: str | None = None
    phase: str | None = None
    items: Items | None = None


class Batch(Record):
    """The result of a batch. With errors, ``phases`` are those from before."""

    phases: tuple[Phase, ...]
    errors: tuple[str, ...] = ()
    read_only: bool = False
    completed: tuple[tuple[str, str], ...] = ()
    """Phase and content of the tasks that the batch completed."""


Phases: TypeAlias = tuple[Phase, ...]


def apply_batch(phases: Phases, ops: Sequence[TodoOp]) -> Batch:
    """Apply ``ops`` in order. One error discards the whole batch.

    Later operations are still checked after an error, so that the model sees all errors at once.
    """
    if all(op.op == "view" for op in ops):
        return Batch(phases=phases, read_only=True)
    changed, errors = phases, []
    for op in ops:
        changed, op_errors = _apply(changed, op)
        errors += op_errors
    if errors:
        # A half-applied batch would make the natural retry fail with "already exists".
        return Batch(phases=phases, errors=tuple(errors))
    changed = normalise(changed)
    return Batch(phases=changed, completed=tuple(_completed_tasks(phases, changed)))


def normalise(phases: Phases) -> Phases:
    """Make exactly one open task ``in_progress``: the first of several, else the first pending."""
    statuses = [task.status for _, task in tasks_of(phases)]
    if "in_progress" in statuses:
        active = statuses.index("in_progress")
    elif "pending" in statuses:
        active = statuses.index("pending")
    else:
        return phases
    indexes = iter(range(len(statuses)))

    def status(task: Task) -> Task:
        index = next(indexes)
        if index == active:
            return replace(task, status="in_progress")
        return replace(task, status="pending") if task.status == "in_progress" else task

    return tuple(replace(phase, tasks=tuple(map(status, phase.tasks))) for phase in phases)


def tasks_of(phases: Phases) -> Iterator[tuple[Phase, Task]]:
    """All tasks in order, with their phases."""
    return ((phase, task) for phase in phases for task in phase.tasks)


def open_tasks(phases: Phases) -> list[tuple[Phase, Task]]:
    """The tasks that are neither completed nor abandoned."""
    return [(phase, task) for phase, task in tasks_of(phases) if task.status not in CLOSED]


def without_closed(phases: Phases) -> Phases:
    """Only the open tasks; phases without any are left out."""
    remaining = (
        replace(phase, tasks=tuple(task for task in phase.tasks if task.status not in CLOSED))
        for phase in phases
    )
    return tuple(phase for phase in remaining if phase.tasks)


def to_json(phases: Phases) -> list[dict[str, Any]]:
    """The phases as JSON, for the details of a result and the data of an entry."""
    return [
        {
            "name": phase.name,
            "tasks": [{"content": task.content, "status": task.status} for task in phase.tasks],
        }
        for phase in phases
    ]


def phases_of(details: object) -> Phases | None:
    """The phases in the details of a result; ``None`` if they are invalid."""
    if not isinstance(details, Mapping) or not isinstance(details.get("phases"), list | tuple):
        return None
    phases = []
    for phase in details["phases"]:
        match phase:
            case {"name": str(name), "tasks": [*tasks]}:
                phases.append(Phase(name=name, tasks=tuple(filter(None, map(_task_of, tasks)))))
            case _:
                return None
    return tuple(phases)


def _task_of(value: object) -> Task | None:
    match value:
        case {"content": str(content), "status": status} if status in MARKS:
            return Task(content=content, status=status)
        case _:
            return None


def _apply(phases: Phases, op: TodoOp) -> tuple[Phases, list[str]]:
    match op.op:
        case "init":
            return _init(phases, op.list)
        case "append":
            return _append(phases, op)
        case "view":
            return phases, []
        case "start":
            return _start(phases, op.task)
        case "done" | "drop" | "rm":
            return _mark_or_remove(phases, op)


def _init(phases: Phases, new_phases: Sequence[PhaseItems] | None) -> tuple[Phases, list[str]]:
    if not new_phases:
        return phases, ["Missing list for init operation"]
    errors = [
        f'Duplicate phase "{name}" in init list' for name in _twice(p.phase for p in new_phases)
    ]
    items = [item for phase in new_phases for item in phase.items]
    errors += [f'Duplicate task "{item}" in init list' for item in _twice(items)]
    if not all(phase.phase.strip() for phase in new_phases):
        errors.append("Missing phase name")
    if not all(item.strip() for item in items):
        errors.append("Missing task content")
    if errors:
        return phases, errors
    return tuple(
        Phase(name=phase.phase, tasks=tuple(Task(content=item) for item in phase.items))
        for phase in new_phases
    ), []


def _twice(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name in names:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return [*twice]


def _append(phases: Phases, op: TodoOp) -> tuple[Phases, list[str]]:
    if not op.phase or not op.phase.strip():
        return phases, ["Missing phase name for append operation"]
    if not op.items:
        return phases, ["Missing items for append operation"]
    if not all(item.strip() for item in op.items):
        return phases, ["Missing task content"]
    contents = {task.content for _, task in tasks_of(phases)}
    again = [item for item in dict.fromkeys(op.items) if item in contents]
    again += [item for item in _twice(op.items) if item not in contents]
    if again:
        return phases, [f'Task "{item}" already exists' for item in again]
    added = tuple(Task(content=item) for item in op.items)
    if all(phase.name != op.phase for phase in phases):
        return (*phases, Phase(name=op.phase, tasks=added)), []
    index = next(n for n, phase in enumerate(phases) if phase.name == op.phase)
    grown = replace(phases[index], tasks=phases[index].tasks + added)
    return (*phases[:index], grown, *phases[index + 1 :]), []


def _start(phases: Phases, content: str | None) -> tuple[Phases, list[str]]:
    target, errors = _find_task(phases, content)
    if target is None:
        return phases, errors

    def status(position: tuple[int, int], task: Task) -> Task:
        if position == target:
            return replace(task, status="in_progress")
        return replace(task, status="pending") if task.status == "in_progress" else task

    return _map_tasks(phases, status), []


def _mark_or_remove(phases: Phases, op: TodoOp) -> tuple[Phases, list[str]]:
    """Apply ``done``, ``drop`` or ``rm`` to a task, a phase, or all tasks."""
    if op.task is not None:
        target, errors = _find_task(phases, op.task)
        if target is None:
            return phases, errors
        targets = {target}
    elif op.phase is not None:
        if not op.phase.strip():
            return phases, ["Missing phase name"]
        numbers = [n for n, phase in enumerate(phases) if phase.name == op.phase]
        if not numbers:
            return phases, [f'Phase "{op.phase}" not found']
        targets = {(numbers[0], n) for n in range(len(phases[numbers[0]].tasks))}
    else:
        targets = {(p, n) for p, phase in enumerate(phases) for n in range(len(phase.tasks))}
    if op.op == "rm":
        return tuple(
            replace(
                phase,
                tasks=tuple(task for n, task in enumerate(phase.tasks) if (p, n) not in targets),
            )
            for p, phase in enumerate(phases)
        ), []
    status: Status = "completed" if op.op == "done" else "abandoned"
    return _map_tasks(
        phases, lambda position, task: replace(task, status=status) if position in targets else task
    ), []


def _map_tasks(phases: Phases, change: Any) -> Phases:
    return tuple(
        replace(phase, tasks=tuple(change((p, n), task) for n, task in enumerate(phase.tasks)))
        for p, phase in enumerate(phases)
    )


def _find_task(phases: Phases, content: str | None) -> tuple[tuple[int, int] | None, list[str]]:
    if content is None or not content.strip():
        return None, ["Missing task content"]
    for p, phase in enumerate(phases):
        for n, task in enumerate(phase.tasks):
            if task.content == content:
                return (p, n), []
    hint = "" if any(phase.tasks for phase in phases) else " (the list is empty: use init first)"
    return None, [f'Task "{content}" not found{hint}']


def _completed_tasks(before: Phases, after: Phases) -> Iterator[tuple[str, str]]:
    done = {task.content for _, task in tasks_of(before) if task.status == "completed"}
    for phase, task in tasks_of(after):
        if task.status == "completed" and task.content not in done:
            yield phase.name, task.content
