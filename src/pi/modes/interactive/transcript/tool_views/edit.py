"""edit: what was changed, as a coloured diff; before it is done, what is to be replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.changed_words import Piece, changed_words
from pi.modes.interactive.transcript.tool_views.view import Shown, failure, folded_head

DIFF_ROWS = 24
PREVIEW_ROWS = 8
MOST_PAIRS = 40
"""Lines changed in one place above which single words no longer tell anything."""

_RUN = re.compile(r"(-*)(\+*)(?<=[-+])")
_NUMBERED = re.compile(r"[-+] *\d+ ")


def edit_view(call: Call, look: Look, width: int) -> Shown:
    """The path, how many lines came and went, and the diff."""
    title = look.theme.paint("accent")(look.short_path(one_line(call.argument("path"))) or "…")
    if call.state == "failed":
        return Shown(title, failure(call, look, width))
    diff = call.details.get("diff")
    if isinstance(diff, str):
        lines = sanitise(diff).split("\n")
        near = lines if look.is_expanded else lines[: DIFF_ROWS + 2 * MOST_PAIRS]
        rows = folded_head(coloured(near, look), DIFF_ROWS, look, width, total=len(lines))
        return Shown(title, rows, _size(lines, look))
    if call.has_ended:
        return Shown(title)
    return Shown(title, folded_head(list(_preview(call, look)), PREVIEW_ROWS, look, width))


def coloured(lines: list[str], look: Look) -> list[str]:
    """Lines of a diff, by their sign; what differs within a line that was changed stands out."""
    theme = look.theme
    signs = "".join(line[:1] or " " for line in lines)
    rows = list(map(theme.paint("toolDiffContext"), lines))
    for run in _RUN.finditer(signs):
        removed, added = lines[run.start(1) : run.end(1)], lines[run.start(2) : run.end(2)]
        old, new = theme.paint("toolDiffRemoved"), theme.paint("toolDiffAdded")
        if len(removed) == len(added) <= MOST_PAIRS:
            pairs = [_pair(*pair, look) for pair in zip(removed, added, strict=True)]
            rows[run.start() : run.end()] = [row for row, _ in pairs] + [row for _, row in pairs]
        else:
            rows[run.start() : run.end()] = [*map(old, removed), *map(new, added)]
    return rows


def _pair(old: str, new: str, look: Look) -> tuple[str, str]:
    """A line before and after it was changed."""
    (sign, before), (other, after) = _parts(old), _parts(new)
    was, now = changed_words(before, after)
    return (
        _painted(sign, was, "toolDiffRemoved", look),
        _painted(other, now, "toolDiffAdded", look),
    )


def _painted(sign: str, pieces: list[Piece], token: str, look: Look) -> str:
    plain, loud = look.theme.paint(token), look.theme.paint(token, inverse=True)
    if not any(piece.differs for piece in pieces):
        return plain(sign + "".join(piece.text for piece in pieces))
    return plain(sign) + "".join((loud if piece.differs else plain)(piece.text) for piece in pieces)


def _parts(line: str) -> tuple[str, str]:
    """The sign with the number behind it, and the line itself."""
    found = _NUMBERED.match(line)
    return (found[0], line[found.end() :]) if found else (line[:1], line[1:])


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
