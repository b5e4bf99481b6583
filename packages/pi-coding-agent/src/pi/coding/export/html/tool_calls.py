"""Tool calls and their results as HTML.

Results are rendered by the shape of their ``details``, not by the name of their tool:

- ``columns`` and ``rows``: a table.
- ``phases`` of ``name`` and ``tasks``; a task has ``content`` and ``status``: a tree.
- ``members`` of ``name`` and ``size``, the first of ``total``: a list.
- ``files`` of ``path``, ``diff`` and ``replacements``: a diff for each file. ``label`` is the
  title; ``pending`` is true for a preview.
- ``action`` (``apply`` or ``discard``), ``label``, ``reason``, ``remaining``: a resolved action;
  ``sourceDetails`` are the details of what was applied.
- ``cells``: objects with ``code``, and with ``title``, ``status``, ``output`` and ``durationMs`` if
  they are known; ``language`` selects the highlighting. Tools like ``python`` report them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pi.ai.messages import (
    Image,
    Json,
    Text,
    ToolCall,
    ToolResultMessage,
)
from pi.base.records import Record
from pi.coding.export.html.markup import (
    Html,
    Painter,
    diff,
    esc,
    join,
    picture,
    tag,
)
from pi.coding.export.outline import changes, subject, text_argument
from pi.coding.export.transcript import strip_blank_lines

SIGNS = {"pending": "☐", "in_progress": "▶", "completed": "✔", "abandoned": "✘"}
"""Signs of tasks by status; tasks with another status have none."""
CLOSED = ("completed", "abandoned")
ACTIONS = {"apply": "applied", "discard": "discarded"}


def drawn(details: Any) -> Html | None:
    """Render the details; ``None`` if their shape is unknown."""
    match details:
        case {"columns": [*columns], "rows": [*rows]} if all(isinstance(r, list) for r in rows):
            return _render_table(columns, rows)
        case {"phases": [*phases]} if all(map(_is_phase, phases)):
            return _render_phases(phases)
        case {"members": [*members]} if members and all(_is_named(member) for member in members):
            return _render_members(members, details.get("total"))
        case {"files": [*files]} if files and all(map(_is_changed_file, files)):
            return _render_files(details, files)
        case _:
            return None


def resolved_action(details: Any) -> Html | None:
    """Render a pending action that was applied or discarded; ``None`` for other details.

    The details of the applied change itself (``sourceDetails``) are not included.
    """
    match details:
        case {"action": "apply" | "discard" as action, "label": str(label)}:
            verb = tag("span", esc(ACTIONS[action]), class_=f"badge {ACTIONS[action]}")
            source, reason = (str(details.get(key) or "") for key in ("sourceToolName", "reason"))
            about = ": ".join(filter(None, (source, reason)))
            remaining = details.get("remaining")
            waiting = remaining if isinstance(remaining, list | tuple) else ()
            notes = [about, *(f"still pending: {pending}" for pending in waiting)]
            title = tag("p", verb, Html(" "), esc(label), class_="action")
            return join((title, *(_render_note(note) for note in notes if note)))
        case _:
            return None


def repeats_arguments(details: object) -> bool:
    """Whether the drawn details contain everything in the arguments of the call."""
    has_phases = isinstance(details, dict) and "phases" in details and drawn(details) is not None
    return has_phases or resolved_action(details) is not None


def _render_note(text: str) -> Html:
    return tag("p", esc(text), class_="note")


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _render_table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Html:
    head = tag("tr", *(tag("th", esc(str(name))) for name in columns))
    body = (tag("tr", *(tag("td", esc(_value(value))) for value in row)) for row in rows)
    return tag("table", head, *body)


def _value(value: object) -> str:
    return "NULL" if value is None else str(value)


# Task lists ---------------------------------------------------------------------------------------


def _is_phase(value: object) -> bool:
    match value:
        case {"name": str(), "tasks": [*tasks]}:
            return all(isinstance(task, dict) and "content" in task for task in tasks)
        case _:
            return False


def _render_phases(phases: Sequence[Mapping[str, Any]]) -> Html:
    tasks = [task for phase in phases for task in phase["tasks"]]
    closed = sum(task.get("status") in CLOSED for task in tasks)
    count = f"{closed} of {_format_count(len(tasks), 'task')} closed" if tasks else "no tasks"
    rows = (
        tag("li", esc(str(phase["name"])), tag("ul", *map(_render_task, phase["tasks"])))
        for phase in phases
    )
    return join((_render_note(count), tag("ul", *rows, class_="phases")))


def _render_task(task: Mapping[str, Any]) -> Html:
    status = str(task.get("status", ""))
    known_status = status if status in SIGNS else ""
    description = esc(str(task["content"]))
    if not known_status:
        return tag("li", description)
    sign = tag(
        "span", esc(SIGNS[known_status]), role="img", aria_label=known_status.replace("_", " ")
    )
    return tag("li", sign, Html(" "), tag("span", description), class_=known_status)


# Archives -----------------------------------------------------------------------------------------


def _is_named(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _render_members(members: Sequence[Mapping[str, Any]], total: object) -> Html:
    count = _format_count(len(members), "member")
    if isinstance(total, int) and total > len(members):
        count = f"the first {len(members):,} of {_format_count(total, 'member')}"
    rows = (tag("li", esc(member["name"]), *_size(member.get("size"))) for member in members)
    return join((_render_note(count), tag("ul", *rows, class_="members")))


def _size(size: object) -> tuple[Html, ...]:
    if not isinstance(size, int):
        return ()
    return (Html(" "), tag("span", esc(_format_count(size, "byte")), class_="note"))


# Changes of several files -------------------------------------------------------------------------


def _is_changed_file(value: object) -> bool:
    match value:
        case {"path": str(), "diff": str()}:
            return True
        case _:
            return False


def _render_files(details: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Html:
    state = "preview" if details.get("pending") is True else ""
    badge = (tag("span", esc(state), class_="badge"), Html(" ")) if state else ()
    label = esc(str(details.get("label") or ""))
    title = tag("p", *badge, label, class_="action") if state or label else Html("")
    return join((title, *map(_render_file, files)))


def _render_file(file: Mapping[str, Any]) -> Html:
    count = file.get("replacements")
    note = f" · {_format_count(count, 'replacement')}" if isinstance(count, int) else ""
    title = tag("span", esc(file["path"]), class_="subject")
    return tag("section", tag("p", title, esc(note), class_="note"), diff(file["diff"]))


# Cells of code ------------------------------------------------------------------------------------


def cells_of(details: object) -> Sequence[Mapping[str, Any]]:
    """Return the cells in the details of a result or message; empty if there are none."""
    cells = details.get("cells") if isinstance(details, dict) else None
    candidates = cells if isinstance(cells, list | tuple) else ()
    return [
        candidate
        for candidate in candidates
        if isinstance(candidate, dict) and isinstance(candidate.get("code"), str)
    ]


def cells(details: Mapping[str, Any], painter: Painter) -> Html:
    """Render the cells: code, status and output of each."""
    listed, language = cells_of(details), str(details.get("language", ""))
    return join(
        _render_cell(
            cell, f"[{number}/{len(listed)}]" if len(listed) > 1 else "", language, painter
        )
        for number, cell in enumerate(listed, 1)
    )


def _render_cell(cell: Mapping[str, Any], position: str, language: str, painter: Painter) -> Html:
    status, took = str(cell.get("status", "")), cell.get("durationMs")
    notes = [position, str(cell.get("title") or ""), "" if status == "ok" else status]
    notes.append(f"{took / 1000:.1f} s" if isinstance(took, int | float) and took >= 100 else "")
    output = strip_blank_lines(str(cell.get("output") or ""))
    return tag(
        "section",
        tag("p", esc(" · ".join(filter(None, notes))), class_="note") if any(notes) else Html(""),
        painter.block(str(cell["code"]), language),
        painter.block(output) if output else Html(""),
        class_="cell failed" if status in ("error", "interrupted") else "cell",
    )


# Calls and results --------------------------------------------------------------------------------


class Result(Record):
    """A result of a call, with its node number and whether it is on the shown branch."""

    node: int
    message: ToolResultMessage
    shown: bool


def tool_call(call: ToolCall, results: Sequence[Result], painter: Painter) -> Html:
    """Render a call as a fold with arguments and results; changes and failures are open."""
    failed = any(result.message.is_error for result in results)
    changed = any(changes(result.message) for result in results)
    hides_arguments = any(_shows_arguments(result.message) for result in results)
    status = "failed" if failed else "" if results else "unanswered"
    title = tag("span", esc(call.name), class_="tool-name")
    about = tag("span", esc(subject(call)), class_="subject")
    return tag(
        "details",
        tag("summary", title, Html(" "), *_render_badge(status), about),
        Html("") if hides_arguments else _render_arguments(call, changed=changed, painter=painter),
        *(_render_result(call, result, painter) for result in results),
        class_=f"tool {status}".strip(),
        open=failed or changed,
    )


def lone_result(message: ToolResultMessage, painter: Painter) -> Html:
    """Render a result whose call is not in the session."""
    title = tag("span", esc(message.tool_name), class_="tool-name")
    status = "failed" if message.is_error else ""
    return tag(
        "details",
        tag("summary", title, Html(" "), *_render_badge(status)),
        content(message.content, painter),
        class_=f"tool {status}".strip(),
    )


def content(parts: Sequence[Text | Image], painter: Painter, *, file: str = "") -> Html:
    """Render texts and images."""
    return join(_render_part(part, painter, file=file) for part in parts)


def image(part: Image) -> Html:
    """Render an image, or a note if it cannot be shown."""
    if source := picture(part.data, part.mime_type):
        return tag("img", src=source, alt="image", class_="picture", loading="lazy")
    return tag("p", esc(f"[image that cannot be shown: {part.mime_type}]"), class_="note")


def _render_badge(status: str) -> tuple[Html, ...]:
    return (tag("span", esc(status), class_="badge"), Html(" ")) if status else ()


def _render_arguments(call: ToolCall, *, changed: bool, painter: Painter) -> Html:
    file = text_argument(call, "path", "file_path")
    match call.name:
        case "bash" | "powershell" if command := text_argument(call, "command"):
            block = painter.block(command, call.name, before="$ ")
            others = {k: v for k, v in call.arguments.items() if k not in ("command", "timeout")}
            return join((block, _as_json(others, painter))) if others else block
        case "write" if "content" in call.arguments:
            return painter.block(text_argument(call, "content"), file=file)
        case "edit" if changed:
            return Html("")
        case "read" | "ls" if set(call.arguments) <= {"path", "file_path", "offset", "limit"}:
            return Html("")  # the title contains all arguments
        case _ if call.arguments:
            return _as_json(call.arguments, painter)
        case _:
            return Html("")


def _as_json(arguments: Json, painter: Painter) -> Html:
    written = json.dumps(arguments, indent=2, ensure_ascii=False)
    return painter.block(written, "json")


def _render_result(call: ToolCall, result: Result, painter: Painter) -> Html:
    message = result.message
    body = _render_body(call, message, painter)
    classes = "result failed" if message.is_error else "result"
    return tag("div", body, class_=classes, data_n=result.node, hidden=not result.shown)


def _render_body(call: ToolCall, message: ToolResultMessage, painter: Painter) -> Html:
    """Render a result from its details; from its text if they have no known shape."""
    details: Any = message.details
    if cells_of(details):
        return with_cells(details, message.content, painter)
    if action := resolved_action(details):
        outcome = drawn(details.get("sourceDetails"))
        return join((action, _with_failure(outcome, message, painter)))
    if drawn_result := drawn(details):
        return _with_failure(drawn_result, message, painter)
    if diff_text := changes(message):
        return diff(diff_text)
    reads = call.name == "read" and not message.is_error
    file = text_argument(call, "path", "file_path") if reads else ""
    return content(message.content, painter, file=file)


def _with_failure(drawn_details: Html | None, message: ToolResultMessage, painter: Painter) -> Html:
    """Add the text to drawn details if it explains a failure; otherwise it repeats them."""
    if drawn_details is not None and not message.is_error:
        return drawn_details
    return join((drawn_details or Html(""), content(message.content, painter)))


def _shows_arguments(message: ToolResultMessage) -> bool:
    """Whether the drawn result contains everything in the arguments of its call."""
    if cells_of(message.details):
        return True
    return repeats_arguments(message.details) and not message.is_error


def with_cells(details: Any, parts: Sequence[Text | Image], painter: Painter) -> Html:
    """Render cells, then images; the text repeats what the cells show."""
    return join((cells(details, painter), *(image(p) for p in parts if isinstance(p, Image))))


def _render_part(part: Text | Image, painter: Painter, *, file: str) -> Html:
    if isinstance(part, Image):
        return image(part)
    text = strip_blank_lines(part.text)
    return painter.block(text, file=file) if text else Html("")
