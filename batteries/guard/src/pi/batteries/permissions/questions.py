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
ONCE_WITH_NOTE = "Allow once, with a note"
DENY = "Deny"
DENY_WITH_REASON = "Deny with a reason"
SESSION = "Allow for this session"
PROJECT = "Always allow in this project"
CANCEL = "deny and stop"
"""What Escape does: the user says next what to do instead."""
STOPPED = (
    "The user denied this call and stopped, to say what to do instead. Wait for the user's message."
)
LONGEST_EXACT = 30
"""Characters of a rule about one command that are repeated; the command itself is shown in full."""
_PLAIN_SPACES = " \n\t\u3000"
"""With the wide one of East Asian texts."""
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs that look like nothing."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"})
"""Categories of Unicode."""
LONGEST_RULES = 160
"""Characters of rules that can be read in every dialog; longer ones are not offered."""


def options(request: ToolRequest, decision: Decision) -> list[Option]:
    """The answers to a question. A call without grants can only be allowed once."""
    rules = ", ".join(decision.grants)
    is_exact = request.command is not None and len(decision.grants) == 1 and "*" not in rules
    if is_exact and len(rules) > LONGEST_EXACT:
        rules = "exactly this command"
    preview = f"3 and 4 allow {rules}"  # for screens without room beside the options
    lasting = [
        Option(label=SESSION, description=rules, preview=preview),
        Option(label=PROJECT, description=rules, preview=preview),
    ]
    return [
        Option(label=ONCE, key="y"),
        Option(label=ONCE_WITH_NOTE, key="tab"),
        *(lasting if rules and len(rules) <= LONGEST_RULES else ()),
        Option(label=DENY, key="n"),
        Option(label=DENY_WITH_REASON),
    ]


def initial_option(decision: Decision) -> str:
    """The option that Enter chooses: not to allow what a rule or a guard wants to be looked at."""
    return DENY if decision.reason and not decision.grants else ONCE


def asking_agent(agent: str) -> str:
    """The line that says which sub-agent asks; empty for the agent of the user's session."""
    return f"The agent {agent} asks." if agent else ""


def question(request: ToolRequest, decision: Decision, before: str | None, asking: str = "") -> str:
    """The text of the dialog; ``before`` is the current content of a file that is changed."""
    lines = [f"Allow {_name(request.tool)}?"]
    if request.agent:
        lines.append(asking_agent(request.agent))
    if decision.reason:
        lines.append(decision.reason)
    lines += ("", *_subject(request, before))
    is_shown = request.command is not None or "path" in request.input
    if request.approval.details and not is_shown:
        lines += ("", *request.approval.details)
    return visible("\n".join(lines))


def _name(tool: str) -> str:
    """The name of a tool; for a tool of an MCP server also that of the server."""
    prefix, _, name = tool.partition("__")
    server, _, of_server = name.partition("__")
    if prefix != "mcp" or not of_server:
        return tool
    return f"{of_server} of the MCP server {server}"


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
    if isinstance(path, str):
        path = _in_one_line(path)
    if isinstance(path, str) and isinstance(content, str):
        yield from _unified(path, before or "", content) or [path, *content.splitlines()]
    elif isinstance(path, str) and (edits := _edits(arguments)):
        yield from _edited(path, edits, before)
    elif not request.urls or len(arguments) > 1:
        yield from _values(arguments)


def _in_one_line(name: str) -> str:
    """A name without line breaks: behind one it could imitate the lines of another change."""
    return name.replace("\n", "\\n")


def _values(arguments: dict[str, Any]) -> Iterator[str]:
    """One argument per line; texts of several lines, such as patches, are below their names."""
    for argument, value in arguments.items():
        name = _in_one_line(argument)
        if name == "path" and isinstance(value, str):
            value = _in_one_line(value)
        if isinstance(value, str):
            yield from (f"{name}:", *value.split("\n")) if "\n" in value else (f"{name}: {value}",)
        else:
            is_flat = not isinstance(value, dict | list)
            indent = None if is_flat else 2
            text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
            yield from f"{name}: {text}".split("\n")


def changes_content(arguments: dict[str, Any]) -> bool:
    """Whether the arguments of a call contain the new content of a file, or edits of it."""
    return isinstance(arguments.get("content"), str) or bool(_edits(arguments))


def _edited(path: str, edits: list[tuple[str, str]], before: str | None) -> list[str]:
    """The diff of the file; the old and new texts if an old one is not unique in the file."""
    after = before or ""
    for old, new in edits:
        if not old or after.count(old) != 1:
            return [path, *(line for edit in edits for line in _replaced(*edit))]
        after = after.replace(old, new)
    return _unified(path, before or "", after) or [path]


def _replaced(old: str, new: str) -> Iterator[str]:
    """The lines of a change whose place in the file is unknown."""
    yield from (f"-{line}" for line in old.splitlines())
    yield from (f"+{line}" for line in new.splitlines())


def _edits(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    listed = arguments.get("edits") if isinstance(arguments.get("edits"), list) else [arguments]
    edits = []
    for edit in listed or []:
        if isinstance(edit, dict):
            old = edit.get("oldText", edit.get("old_text"))
            new = edit.get("newText", edit.get("new_text"))
            if isinstance(old, str) and isinstance(new, str):
                edits.append((old, new))
    return edits


def _unified(path: str, before: str, after: str) -> list[str]:
    """The unified diff of a file, which the screen draws; empty if its lines are equal."""
    old, new = before.splitlines(), after.splitlines()
    return [*difflib.unified_diff(old, new, path, path, lineterm="", n=3)]


def visible(text: str) -> str:
    """``text`` with every invisible character written as an escape.

    A command must not look different from what runs: control sequences, marks that change the
    direction of text, zero-width characters, and spaces that separate no words are shown.
    """
    return "".join(
        letter
        if letter in _PLAIN_SPACES
        or (unicodedata.category(letter) not in _INVISIBLE and letter not in _BLANKS)
        else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in text
    )
