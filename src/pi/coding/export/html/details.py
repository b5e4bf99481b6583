"""Results as HTML by the shape of their ``details``, whichever tool reports them.

- ``columns`` and ``rows``: a table.
- ``phases`` of ``name`` and ``tasks``; a task has ``content`` and ``status``: a tree.
- ``members`` of ``name`` and ``size``, the first of ``total``: a list.
- ``files`` of ``path``, ``diff`` and ``replacements``: a diff for each file. ``label`` is the
  title, ``pending`` says whether the change is a preview.
- ``action`` (``apply`` or ``discard``), ``label``, ``reason``, ``remaining``: a resolved action;
  ``sourceDetails`` are the details of what was applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.coding.export.html.markup import Html, diff, esc, join, tag

SIGNS = {"pending": "☐", "in_progress": "▶", "completed": "✔", "abandoned": "✘"}
"""Signs of tasks by status; tasks with another status have none."""
CLOSED = ("completed", "abandoned")
ACTIONS = {"apply": "applied", "discard": "discarded"}


def drawn(details: Any) -> Html | None:
    """Render the details; ``None`` if their shape is unknown."""
    match details:
        case {"columns": [*columns], "rows": [*rows]} if all(isinstance(r, list) for r in rows):
            return _table(columns, rows)
        case {"phases": [*phases]} if all(map(_is_phase, phases)):
            return _phases(phases)
        case {"members": [*members]} if members and all(_is_named(each) for each in members):
            return _members(members, details.get("total"))
        case {"files": [*files]} if files and all(map(_is_changed_file, files)):
            return _files(details, files)
        case _:
            return None


def resolved_action(details: Any) -> Html | None:
    """Render a pending action that was applied or discarded; ``None`` for other details.

    What the action itself reported is not included.
    """
    match details:
        case {"action": "apply" | "discard" as action, "label": str(label)}:
            verb = tag("span", esc(ACTIONS[action]), class_=f"badge {ACTIONS[action]}")
            source, reason = (str(details.get(key) or "") for key in ("sourceToolName", "reason"))
            about = ": ".join(filter(None, (source, reason)))
            left = details.get("remaining")
            waiting = left if isinstance(left, list | tuple) else ()
            notes = [about, *(f"still pending: {each}" for each in waiting)]
            title = tag("p", verb, Html(" "), esc(label), class_="action")
            return join((title, *(_note(each) for each in notes if each)))
        case _:
            return None


def repeats_arguments(details: object) -> bool:
    """Whether the drawn details contain all that the arguments of the call say."""
    has_phases = isinstance(details, dict) and "phases" in details and drawn(details) is not None
    return has_phases or resolved_action(details) is not None


def _note(text: str) -> Html:
    return tag("p", esc(text), class_="note")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Html:
    head = tag("tr", *(tag("th", esc(str(name))) for name in columns))
    body = (tag("tr", *(tag("td", esc(_cell(value))) for value in row)) for row in rows)
    return tag("table", head, *body)


def _cell(value: object) -> str:
    return "NULL" if value is None else str(value)


# Task lists ---------------------------------------------------------------------------------------


def _is_phase(value: object) -> bool:
    match value:
        case {"name": str(), "tasks": [*tasks]}:
            return all(isinstance(each, dict) and "content" in each for each in tasks)
        case _:
            return False


def _phases(phases: Sequence[Mapping[str, Any]]) -> Html:
    tasks = [task for phase in phases for task in phase["tasks"]]
    closed = sum(task.get("status") in CLOSED for task in tasks)
    count = f"{closed} of {_counted(len(tasks), 'task')} closed" if tasks else "no tasks"
    rows = (
        tag("li", esc(str(phase["name"])), tag("ul", *map(_task, phase["tasks"])))
        for phase in phases
    )
    return join((_note(count), tag("ul", *rows, class_="phases")))


def _task(task: Mapping[str, Any]) -> Html:
    status = str(task.get("status", ""))
    known = status if status in SIGNS else ""
    words = esc(str(task["content"]))
    if not known:
        return tag("li", words)
    sign = tag("span", esc(SIGNS[known]), role="img", aria_label=known.replace("_", " "))
    return tag("li", sign, Html(" "), tag("span", words), class_=known)


# Archives -----------------------------------------------------------------------------------------


def _is_named(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _members(members: Sequence[Mapping[str, Any]], total: object) -> Html:
    count = _counted(len(members), "member")
    if isinstance(total, int) and total > len(members):
        count = f"the first {len(members):,} of {_counted(total, 'member')}"
    rows = (tag("li", esc(each["name"]), *_size(each.get("size"))) for each in members)
    return join((_note(count), tag("ul", *rows, class_="members")))


def _size(size: object) -> tuple[Html, ...]:
    if not isinstance(size, int):
        return ()
    return (Html(" "), tag("span", esc(_counted(size, "byte")), class_="note"))


# Changes of several files -------------------------------------------------------------------------


def _is_changed_file(value: object) -> bool:
    match value:
        case {"path": str(), "diff": str()}:
            return True
        case _:
            return False


def _files(details: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Html:
    state = "preview" if details.get("pending") is True else ""
    badge = (tag("span", esc(state), class_="badge"), Html(" ")) if state else ()
    label = esc(str(details.get("label") or ""))
    title = tag("p", *badge, label, class_="action") if state or label else Html("")
    return join((title, *map(_file, files)))


def _file(file: Mapping[str, Any]) -> Html:
    count = file.get("replacements")
    noted = f" · {_counted(count, 'replacement')}" if isinstance(count, int) else ""
    title = tag("span", esc(file["path"]), class_="subject")
    return tag("section", tag("p", title, esc(noted), class_="note"), diff(file["diff"]))
