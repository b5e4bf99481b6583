"""edit: what was changed, as a coloured diff; before it is done, what is to be replaced."""

from __future__ import annotations

from collections.abc import Iterator

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.view import Shown, failure, folded_head

DIFF_ROWS = 24
PREVIEW_ROWS = 8


def edit_view(call: Call, look: Look, width: int) -> Shown:
    """The path, how many lines came and went, and the diff."""
    title = look.theme.paint("accent")(look.short_path(one_line(call.argument("path"))) or "…")
    if call.state == "failed":
        return Shown(title, failure(call, look, width))
    diff = call.details.get("diff")
    if isinstance(diff, str):
        lines = sanitise(diff).split("\n")
        rows = folded_head(coloured(lines, look), DIFF_ROWS, look, width)
        return Shown(title, rows, _size(lines, look))
    if call.has_ended:
        return Shown(title)
    return Shown(title, folded_head(list(_preview(call, look)), PREVIEW_ROWS, look, width))


def coloured(lines: list[str], look: Look) -> list[str]:
    """Lines of a diff, by their sign."""
    theme = look.theme
    paints = {"+": theme.paint("toolDiffAdded"), "-": theme.paint("toolDiffRemoved")}
    context = theme.paint("toolDiffContext")
    return [paints.get(line[:1], context)(line) for line in lines]


def _size(lines: list[str], look: Look) -> str:
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    plus = look.theme.paint("toolDiffAdded")(f"+{added}")
    return f"{plus} {look.theme.paint('toolDiffRemoved')(f'-{removed}')}"


def _preview(call: Call, look: Look) -> Iterator[str]:
    """What the model has said so far: the old lines, and the new ones."""
    edits = call.arguments.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            for sign, name in (("-", "oldText"), ("+", "newText")):
                text = edit.get(name)
                lines = sanitise(text).split("\n") if isinstance(text, str) and text else []
                yield from coloured([f"{sign} {line}" for line in lines], look)
