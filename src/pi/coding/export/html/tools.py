"""Tool calls and what came of them, drawn as the screen draws them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pi.ai.messages import Image, Text, ToolCall, ToolResultMessage
from pi.base.records import Record
from pi.coding.export.html.code import Painter, diff
from pi.coding.export.html.links import picture
from pi.coding.export.html.markup import Html, esc, join, tag
from pi.coding.export.tool_facts import changes, subject, text_argument
from pi.coding.export.transcript import unpadded


class Result(Record):
    """A result of a call, with the number of its node and whether its branch is the shown one."""

    node: int
    message: ToolResultMessage
    shown: bool


def tool_call(call: ToolCall, results: Sequence[Result], painter: Painter) -> Html:
    """A call that unfolds to its arguments and results; changes and failures are unfolded."""
    failed = any(result.message.is_error for result in results)
    changed = any(changes(result.message) for result in results)
    status = "failed" if failed else "" if results else "unanswered"
    title = tag("span", esc(call.name), class_="tool-name")
    about = tag("span", esc(subject(call)), class_="subject")
    return tag(
        "details",
        tag("summary", title, Html(" "), *_badge(status), about),
        _arguments(call, changed=changed, painter=painter),
        *(_result(call, result, painter) for result in results),
        class_=f"tool {status}".strip(),
        open=failed or changed,
    )


def lone_result(message: ToolResultMessage, painter: Painter) -> Html:
    """A result whose call is not in the session."""
    title = tag("span", esc(message.tool_name), class_="tool-name")
    status = "failed" if message.is_error else ""
    return tag(
        "details",
        tag("summary", title, Html(" "), *_badge(status)),
        content(message.content, painter),
        class_=f"tool {status}".strip(),
    )


def content(parts: Sequence[Text | Image], painter: Painter, *, file: str = "") -> Html:
    """Words as they are, and pictures."""
    return join(_part(part, painter, file=file) for part in parts)


def image(part: Image) -> Html:
    """A picture, or a line that says why there is none."""
    if source := picture(part.data, part.mime_type):
        return tag("img", src=source, alt="image", class_="picture", loading="lazy")
    return tag("p", esc(f"[image that cannot be shown: {part.mime_type}]"), class_="note")


def _badge(status: str) -> tuple[Html, ...]:
    return (tag("span", esc(status), class_="badge"), Html(" ")) if status else ()


def _arguments(call: ToolCall, *, changed: bool, painter: Painter) -> Html:
    file = text_argument(call, "path", "file_path")
    match call.name:
        case "bash" | "powershell" if command := text_argument(call, "command"):
            return painter.block(command, call.name, before="$ ")
        case "write" if "content" in call.arguments:
            return painter.block(text_argument(call, "content"), file=file)
        case "edit" if changed:
            return Html("")
        case "read" | "ls" if set(call.arguments) <= {"path", "file_path", "offset", "limit"}:
            return Html("")  # the title says it all
        case _ if call.arguments:
            written = json.dumps(call.arguments, indent=2, ensure_ascii=False)
            return painter.block(written, "json")
        case _:
            return Html("")


def _result(call: ToolCall, result: Result, painter: Painter) -> Html:
    message = result.message
    if made := changes(message):
        body = diff(made)
    else:
        reads = call.name == "read" and not message.is_error
        file = text_argument(call, "path", "file_path") if reads else ""
        body = content(message.content, painter, file=file)
    classes = "result failed" if message.is_error else "result"
    return tag("div", body, class_=classes, data_n=result.node, hidden=not result.shown)


def _part(part: Text | Image, painter: Painter, *, file: str) -> Html:
    if isinstance(part, Image):
        return image(part)
    text = unpadded(part.text)
    return painter.block(text, file=file) if text else Html("")
