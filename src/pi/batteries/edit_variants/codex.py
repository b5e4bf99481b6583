"""Parses the patch format of Codex: ``*** Begin Patch`` … ``*** End Patch``. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.batteries.edit_variants.hunks import FilePatch, Hunk, Sign
from pi.extension import ToolFailed

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"


def parse_codex(patch: str) -> list[FilePatch]:
    """The changes of a patch, by file. Raises ``ToolFailed`` if it is invalid."""
    lines = _body(patch)
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        if line.startswith(ADD):
            made, at = _added(lines, at)
        elif line.startswith(DELETE):
            made, at = FilePatch(kind="delete", path=line.removeprefix(DELETE)), at + 1
        elif line.startswith(UPDATE):
            made, at = _updated(lines, at)
        elif not line:
            at += 1
            continue
        else:
            raise ToolFailed(
                f"Invalid line {at + 2} of the patch: {line[:80]!r}. Expected {ADD}…, {DELETE}…"
                f" or {UPDATE}…"
            )
        found.append(made)
    if not found:
        raise ToolFailed(f"The patch changes no file. Use {ADD}…, {DELETE}… or {UPDATE}…")
    return found


def _body(patch: str) -> list[str]:
    """The lines between the marks. Shell quoting around the patch is left out."""
    lines = patch.replace("\r\n", "\n").strip().split("\n")
    marks = [line.strip() for line in lines]
    if BEGIN not in marks:
        raise ToolFailed(f"The first line of the patch must be '{BEGIN}'.")
    first = marks.index(BEGIN)
    if END not in marks[first:]:
        raise ToolFailed(f"The last line of the patch must be '{END}'.")
    last = len(marks) - 1 - marks[::-1].index(END)
    return lines[first + 1 : last]


def _is_section(line: str) -> bool:
    return line.startswith((ADD, DELETE, UPDATE))


def _added(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    path = lines[at].rstrip().removeprefix(ADD)
    at += 1
    content = []
    while at < len(lines) and not _is_section(lines[at]):
        if not lines[at].startswith("+"):
            raise ToolFailed(f"Lines of the new file {path} must begin with +: {lines[at][:80]!r}")
        content.append(f"{lines[at][1:]}\n")
        at += 1
    return FilePatch(kind="add", path=path, content="".join(content)), at


def _updated(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    path = lines[at].rstrip().removeprefix(UPDATE)
    at += 1
    move_to = ""
    if at < len(lines) and lines[at].startswith(MOVE):
        move_to = lines[at].rstrip().removeprefix(MOVE)
        at += 1
    hunks: list[Hunk] = []
    while at < len(lines) and not _is_section(lines[at]):
        hunk, at = _hunk(lines, at, path)
        if hunk is not None:
            hunks.append(hunk)
    if not hunks and not move_to:
        raise ToolFailed(f"The update of {path} has no changes.")
    return FilePatch(kind="update", path=path, move_to=move_to, hunks=tuple(hunks)), at


def _hunk(lines: Sequence[str], at: int, path: str) -> tuple[Hunk | None, int]:
    """The hunk that begins at a line, and the line after it; the first needs no ``@@``."""
    headings: list[str] = []
    while at < len(lines) and lines[at].startswith("@@"):
        heading = lines[at].removeprefix("@@").strip()
        if heading and not heading.startswith("-"):  # numbers of a unified diff mean nothing here
            headings.append(heading)
        at += 1
    body: list[tuple[Sign, str]] = []
    at_end = False
    while at < len(lines) and not lines[at].startswith("@@") and not _is_section(lines[at]):
        line = lines[at]
        at += 1
        if line.rstrip() == END_OF_FILE:
            at_end = True
            break
        match line[:1]:
            case " " | "-" | "+" as sign:
                body.append((sign, line[1:]))
            case "":
                body.append((" ", ""))  # models drop the space of an empty line
            case _:
                raise ToolFailed(
                    f"Invalid line in the update of {path}: {line[:80]!r}. Lines begin with a"
                    " space, - or +."
                )
    if not any(sign != " " for sign, _ in body):
        if any(text.strip() for _, text in body):
            raise ToolFailed(f"A part of the update of {path} has no line with - or +.")
        return None, at
    return Hunk(lines=tuple(body), headings=tuple(headings), at_end=at_end), at
