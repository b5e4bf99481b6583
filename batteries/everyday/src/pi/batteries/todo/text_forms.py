"""The list as a summary and as Markdown."""

from __future__ import annotations

import re

from pi.batteries.todo.state import (
    CLOSED,
    DEFAULT_PHASE,
    MARKS,
    STATUS_OF_MARK,
    Batch,
    Phase,
    Phases,
    Task,
    normalise,
    open_tasks,
)


def summary(batch: Batch) -> str:
    """The result for the model: errors, remaining tasks, progress, and all phases."""
    lines = [f"Errors: {'; '.join(batch.errors)}"] if batch.errors else []
    if not any(phase.tasks for phase in batch.phases):
        if not batch.errors:
            lines.append("Todo list is empty." if batch.read_only else "Todo list cleared.")
        return "\n".join(lines)
    remaining = open_tasks(batch.phases)
    if remaining:
        lines.append(f"Remaining items ({len(remaining)}):")
        lines += [f"  - {task.content} [{task.status}] ({phase.name})" for phase, task in remaining]
    else:
        lines.append("Remaining items: none.")
    number, current = _current(batch.phases)
    closed = sum(task.status in CLOSED for task in current.tasks)
    lines.append(
        f'Phase {number}/{len(batch.phases)} "{current.name}":'
        f" {closed}/{len(current.tasks)} tasks closed"
    )
    for phase in batch.phases:
        lines.append(f"  {phase.name}:")
        lines += [f"    [{MARKS[task.status]}] {task.content}" for task in phase.tasks]
    return "\n".join(lines)


def _current(phases: Phases) -> tuple[int, Phase]:
    """The first phase with an open task, else the last one; with its number."""
    for number, phase in enumerate(phases, 1):
        if any(task.status not in CLOSED for task in phase.tasks):
            return number, phase
    return len(phases), phases[-1]


def to_markdown(phases: Phases) -> str:
    """Headings and checklist items, for an editor."""
    blocks = (
        "\n".join([f"# {phase.name}", *(f"- [{MARKS[t.status]}] {t.content}" for t in phase.tasks)])
        for phase in phases
    )
    return "\n\n".join(blocks) + "\n" if phases else ""


def from_markdown(text: str) -> tuple[Phases, tuple[str, ...]]:
    """Parse the Markdown form. Returns the phases, and a message for each invalid line."""
    phases: dict[str, list[Task]] = {}
    current, errors = DEFAULT_PHASE, []
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if heading := re.fullmatch(r"#{1,6}\s+(.*?)\s*", line):
            current = heading[1] or DEFAULT_PHASE
            phases.setdefault(current, [])
        elif item := re.fullmatch(r"\s*[-*+]\s+\[(.?)\]\s+(.*?)\s*", line):
            status = STATUS_OF_MARK.get(item[1])
            if status is None:
                errors.append(f"Line {number}: unknown mark [{item[1]}]; use [ ], [/], [x] or [-].")
            elif not item[2] or item[2] in seen:
                errors.append(f'Line {number}: Task "{item[2]}" already exists')
            else:
                seen.add(item[2])
                phases.setdefault(current, []).append(Task(content=item[2], status=status))
        else:
            errors.append(f"Line {number}: expected '# Phase' or '- [ ] task', found: {line[:60]}")
    parsed = tuple(Phase(name=name, tasks=tuple(tasks)) for name, tasks in phases.items())
    return normalise(parsed), tuple(errors)
