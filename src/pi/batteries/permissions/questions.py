"""The text of dialogs about a call: the whole command, the change, the address. Pure."""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.extension import Option

ONCE = "Allow once"
DENY = "Deny"
DENY_WITH_REASON = "Deny with a reason"
SESSION = "Allow for this session"
PROJECT = "Always allow in this project"
MAX_LINES = 400
"""Maximum lines of a change; commands and addresses are always shown whole."""


def options(decision: Decision) -> list[Option]:
    """The answers to a question. A call without grants can only be allowed once."""
    rules = ", ".join(decision.grants)
    lasting = [Option(label=SESSION, description=rules), Option(label=PROJECT, description=rules)]
    return [
        Option(label=ONCE),
        *(lasting if decision.grants else ()),
        Option(label=DENY),
        Option(label=DENY_WITH_REASON),
    ]


def question(request: ToolRequest, decision: Decision, before: str | None) -> str:
    """The text of the dialog; ``before`` is the current content of a file that is changed."""
    lines = [f"Allow {request.tool}?"]
    if decision.reason:
        lines.append(decision.reason)
    lines += ("", *_subject(request, before))
    is_shown = request.command is not None or "path" in request.input
    if request.approval.details and not is_shown:
        lines += ("", *request.approval.details)
    return visible("\n".join(lines))


def _subject(request: ToolRequest, before: str | None) -> Iterator[str]:
    arguments = request.input
    if request.command is not None:
        yield request.command
        for name in ("cwd", "env"):
            if arguments.get(name):
                yield f"{name}: {json.dumps(arguments[name], ensure_ascii=False)}"
        return
    yield from request.urls
    path, content = arguments.get("path"), arguments.get("content")
    if isinstance(path, str) and isinstance(content, str):
        yield path
        yield from _limited(_unified(before or "", content))
    elif isinstance(path, str) and (edits := _edits(arguments)):
        yield path
        yield from _limited(_edited(edits, before))
    elif not request.urls or len(arguments) > 1:
        yield json.dumps(arguments, indent=2, ensure_ascii=False, default=str)


def changes_content(arguments: dict[str, Any]) -> bool:
    """Whether the arguments of a call contain the new content of a file, or edits of it."""
    return isinstance(arguments.get("content"), str) or bool(_edits(arguments))


def _edited(edits: list[tuple[str, str]], before: str | None) -> Iterator[str]:
    """The diff with line numbers; without them if an old text is not unique in the file."""
    after = before or ""
    for old, new in edits:
        if not old or after.count(old) != 1:
            return (line for edit in edits for line in _unified(*edit))
        after = after.replace(old, new)
    return _unified(before or "", after)


def _edits(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    listed = arguments.get("edits") if isinstance(arguments.get("edits"), list) else [arguments]
    found = []
    for edit in listed or []:
        if isinstance(edit, dict):
            old = edit.get("oldText", edit.get("old_text"))
            new = edit.get("newText", edit.get("new_text"))
            if isinstance(old, str) and isinstance(new, str):
                found.append((old, new))
    return found


def _unified(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return (line for line in lines if not line.startswith(("---", "+++")))


def _limited(lines: Iterator[str]) -> Iterator[str]:
    shown = list(lines)
    yield from shown[:MAX_LINES]
    if len(shown) > MAX_LINES:
        yield f"… {len(shown) - MAX_LINES} more lines"


def visible(text: str) -> str:
    """``text`` with every invisible character written as an escape.

    A command must not look different from what runs: control sequences, marks that change the
    direction of text, and zero-width characters are shown.
    """
    return "".join(
        letter
        if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cf", "Co", "Cs", "Cn")
        else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in text
    )
