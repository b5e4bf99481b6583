"""Parses patches: unified diffs and the format of Codex. Pure.

Unified diffs are read leniently: models miscount lines and drop trailing spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.batteries.edit_variants.hunks import FilePatch, Hunk, Sign
from pi.extension import Json, ToolFailed

_HUNK = re.compile(r"@@+(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@+)?")
_GIT_HEADER = re.compile(r"--- (?:a/.+|/dev/null)\n\+\+\+ (?:b/.+|/dev/null)")
_NULL = "/dev/null"
_GIT = (
    *("diff --git ", "index ", "new file mode ", "deleted file mode ", "old mode ", "new mode "),
    *("similarity index ", "rename from ", "rename to "),
)
"""Lines between the files of a patch of git."""
BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, END_OF_FILE = "*** Move to: ", "*** End of File"


def paths_of(arguments: Json) -> list[str]:
    """The files that the arguments name; also for incomplete arguments."""
    match arguments:
        case {"path": str(path)} if path:
            return [path]
        case {"patch": str(text)}:
            found = re.findall(r"(?m)^\+\+\+ (?:b/)?([^\t\n]+)", text)
        case {"input": str(text)}:
            found = re.findall(r"(?m)^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)", text)
        case _:
            found = []
    return [*dict.fromkeys(name.strip() for name in found)]


def parse_unified(patch: str, path: str = "") -> list[FilePatch]:
    """The changes of a patch, by file. ``path`` is the file of hunks without a file header.

    Raises ``ToolFailed`` if the patch is invalid or has no hunk.
    """
    lines = _unified_lines(patch)
    found: list[FilePatch] = []
    at = 0
    old, new = path, path
    renamed = ""
    while at < len(lines):
        line = lines[at]
        if line.startswith("rename to "):
            renamed = line.removeprefix("rename to ").strip()
        elif line.startswith("rename from "):
            old = new = line.removeprefix("rename from ").strip()
            if not _has_hunks(lines, at):
                target = next((x for x in lines[at:] if x.startswith("rename to ")), "")
                moved = target.removeprefix("rename to ").strip()
                found.append(FilePatch(kind="update", path=old, move_to=moved))
        elif _is_header(lines, at):
            old, new = _paths(lines[at], lines[at + 1])
            at += 1
        elif line.startswith("@@"):
            hunk, at = _unified_hunk(lines, at)
            _add_hunk(found, old or new, new or old, renamed, hunk)
            continue
        elif line.strip() and not line.startswith(_GIT):
            raise ToolFailed(
                f"Invalid line {at + 1} in the patch, outside of a hunk: {line[:80]!r}"
            )
        at += 1
    if not found:
        raise ToolFailed("The patch has no hunks. Each begins with @@ -line,count +line,count @@.")
    return found


def _unified_lines(patch: str) -> list[str]:
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    if lines and lines[0].startswith("```"):  # a code fence around the patch
        lines = lines[1:]
        if lines and lines[-1].strip() == "```":
            lines.pop()
    return lines


def _has_hunks(lines: Sequence[str], at: int) -> bool:
    """Whether a hunk follows line ``at`` before the next file."""
    for line in lines[at + 1 :]:
        if line.startswith("diff --git "):
            return False
        if line.startswith("@@"):
            return True
    return False


def _is_header(lines: Sequence[str], at: int) -> bool:
    """Whether line ``at`` and the next are a file header; one ``---`` may be a removed line."""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _paths(minus: str, plus: str) -> tuple[str, str]:
    old, new = (line[4:].split("\t")[0].strip() for line in (minus, plus))
    if old.startswith("a/") or old == _NULL:
        new = new.removeprefix("b/")
    if new != plus[4:].split("\t")[0].strip() or new == _NULL:
        old = old.removeprefix("a/")
    return old, new


def _unified_hunk(lines: Sequence[str], at: int) -> tuple[Hunk, int]:
    """The hunk that begins at a line, and the line after it."""
    header = _HUNK.match(lines[at])
    numbers = header.groups() if header else (None,) * 4
    start, count = numbers[0], numbers[1]
    at += 1
    body: list[tuple[Sign, str]] = []
    # Per side, whether the last line has no newline.
    missing = {"-": False, "+": False}
    seen = False
    remaining = [int(numbers[1] or 1), int(numbers[3] or 1)] if start is not None else [0, 0]
    while at < len(lines) and not _ends_hunk(lines, at, expects_more=min(remaining) > 0):
        line = lines[at]
        remaining[0] -= line[:1] in ("", " ", "-")
        remaining[1] -= line[:1] in ("", " ", "+")
        match line[:1]:
            case "\\":
                seen = True
                sign = body[-1][0] if body else " "
                for side in missing:
                    missing[side] |= sign in (side, " ")
            case " " | "-" | "+" as sign:
                body.append((sign, line[1:]))
            case "":
                body.append((" ", ""))  # models drop the space of an empty line
            case _:
                raise ToolFailed(
                    f"Invalid line {at + 1} in a hunk of the patch: {line[:80]!r}."
                    " Lines of a hunk begin with a space, - or +."
                )
        at += 1
    while body and body[-1] == (" ", "") and at < len(lines) and lines[at - 1] == "":
        body.pop()  # a blank line between two files of a patch
    first = None if start is None else max(int(start) - (count != "0"), 0)
    final = not missing["+"] if seen else None
    return Hunk(lines=tuple(body), start=first, final_newline=final), at


def _ends_hunk(lines: Sequence[str], at: int, *, expects_more: bool) -> bool:
    """Whether another hunk or file begins.

    ``--- a`` and ``+++ b`` may also be a removed and an added line. They are, if the hunk expects
    more lines by its counts, or if no hunk follows.
    """
    if lines[at].startswith(("@@", "diff --git ")):
        return True
    follows = at + 2 < len(lines) and lines[at + 2].startswith("@@")
    if not follows or not _is_header(lines, at):
        return False
    # Models miscount, so headers in the form of git end a hunk in any case.
    return not expects_more or bool(_GIT_HEADER.fullmatch(f"{lines[at]}\n{lines[at + 1]}"))


def _add_hunk(found: list[FilePatch], old: str, new: str, renamed: str, hunk: Hunk) -> None:
    if not old:
        raise ToolFailed("The patch names no file. Begin it with --- a/path and +++ b/path.")
    if old == _NULL:
        content = "".join(f"{text}\n" for sign, text in hunk.lines if sign == "+")
        if hunk.final_newline is False:
            content = content.removesuffix("\n")
        found.append(FilePatch(kind="add", path=new, content=content))
        return
    if new == _NULL:
        found.append(FilePatch(kind="delete", path=old, hunks=(hunk,)))
        return
    move_to = new if new != old else ""
    if found and found[-1].path == old and found[-1].kind == "update":
        last = found.pop()
        hunks = (*last.hunks, hunk)
        found.append(FilePatch(kind="update", path=old, move_to=last.move_to, hunks=hunks))
        return
    found.append(FilePatch(kind="update", path=old, move_to=renamed or move_to, hunks=(hunk,)))


def parse_codex(patch: str) -> list[FilePatch]:
    """The changes of a patch, by file. Raises ``ToolFailed`` if it is invalid."""
    lines = _codex_lines(patch)
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        if line.startswith(ADD):
            file_patch, at = _added(lines, at)
        elif line.startswith(DELETE):
            file_patch, at = FilePatch(kind="delete", path=line.removeprefix(DELETE)), at + 1
        elif line.startswith(UPDATE):
            file_patch, at = _updated(lines, at)
        elif not line:
            at += 1
            continue
        else:
            raise ToolFailed(
                f"Invalid line {at + 2} of the patch: {line[:80]!r}. Expected {ADD}…, {DELETE}…"
                f" or {UPDATE}…"
            )
        found.append(file_patch)
    if not found:
        raise ToolFailed(f"The patch changes no file. Use {ADD}…, {DELETE}… or {UPDATE}…")
    return found


def _codex_lines(patch: str) -> list[str]:
    """The lines between ``BEGIN`` and ``END``, without shell quoting around them."""
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
        hunk, at = _codex_hunk(lines, at, path)
        if hunk is not None:
            hunks.append(hunk)
    if not hunks and not move_to:
        raise ToolFailed(f"The update of {path} has no changes.")
    return FilePatch(kind="update", path=path, move_to=move_to, hunks=tuple(hunks)), at


def _codex_hunk(lines: Sequence[str], at: int, path: str) -> tuple[Hunk | None, int]:
    """The hunk that begins at a line, and the line after it; the first needs no ``@@``."""
    headings: list[str] = []
    while at < len(lines) and lines[at].startswith("@@"):
        heading = lines[at].removeprefix("@@").strip()
        if heading and not heading.startswith("-"):  # not the numbers of a unified diff
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
