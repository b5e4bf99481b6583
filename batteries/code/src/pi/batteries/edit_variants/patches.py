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
            names = re.findall(r"(?m)^\+\+\+ (?:b/)?([^\t\n]+)", text)
        case {"input": str(text)}:
            names = re.findall(r"(?m)^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)", text)
        case _:
            names = []
    return [*dict.fromkeys(name.strip() for name in names)]


def parse_unified(patch: str, path: str = "") -> list[FilePatch]:
    """The changes of a patch, by file. ``path`` is the file of hunks without a file header.

    Raises ``ToolFailed`` if the patch is invalid or has no hunk.
    """
    lines = _unified_lines(patch)
    patches: list[FilePatch] = []
    index = 0
    old, new = path, path
    renamed = ""
    while index < len(lines):
        line = lines[index]
        if line.startswith("rename to "):
            renamed = line.removeprefix("rename to ").strip()
        elif line.startswith("rename from "):
            old = new = line.removeprefix("rename from ").strip()
            if not _has_hunks(lines, index):
                target = next((x for x in lines[index:] if x.startswith("rename to ")), "")
                moved = target.removeprefix("rename to ").strip()
                patches.append(FilePatch(kind="update", path=old, move_to=moved))
        elif _is_header(lines, index):
            old, new = _paths(lines[index], lines[index + 1])
            index += 1
        elif line.startswith("@@"):
            hunk, index = _unified_hunk(lines, index)
            _add_hunk(patches, old or new, new or old, renamed, hunk)
            continue
        elif line.strip() and not line.startswith(_GIT):
            raise ToolFailed(
                f"Invalid line {index + 1} in the patch, outside of a hunk: {line[:80]!r}"
            )
        index += 1
    if not patches:
        raise ToolFailed("The patch has no hunks. Each begins with @@ -line,count +line,count @@.")
    return patches


def _unified_lines(patch: str) -> list[str]:
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    if lines and lines[0].startswith("```"):  # a code fence around the patch
        lines = lines[1:]
        if lines and lines[-1].strip() == "```":
            lines.pop()
    return lines


def _has_hunks(lines: Sequence[str], index: int) -> bool:
    """Whether a hunk follows line ``at`` before the next file."""
    for line in lines[index + 1 :]:
        if line.startswith("diff --git "):
            return False
        if line.startswith("@@"):
            return True
    return False


def _is_header(lines: Sequence[str], index: int) -> bool:
    """Whether line ``at`` and the next are a file header; one ``---`` may be a removed line."""
    return (
        lines[index].startswith("--- ")
        and index + 1 < len(lines)
        and lines[index + 1].startswith("+++ ")
    )


def _paths(minus: str, plus: str) -> tuple[str, str]:
    old, new = (line[4:].split("\t")[0].strip() for line in (minus, plus))
    if old.startswith("a/") or old == _NULL:
        new = new.removeprefix("b/")
    if new != plus[4:].split("\t")[0].strip() or new == _NULL:
        old = old.removeprefix("a/")
    return old, new


def _unified_hunk(lines: Sequence[str], index: int) -> tuple[Hunk, int]:
    """The hunk that begins at a line, and the line after it."""
    header = _HUNK.match(lines[index])
    numbers = header.groups() if header else (None,) * 4
    start, count = numbers[0], numbers[1]
    index += 1
    body: list[tuple[Sign, str]] = []
    # Per side, whether the last line has no newline.
    missing = {"-": False, "+": False}
    seen = False
    remaining = [int(numbers[1] or 1), int(numbers[3] or 1)] if start is not None else [0, 0]
    while index < len(lines) and not _ends_hunk(lines, index, expects_more=min(remaining) > 0):
        line = lines[index]
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
                    f"Invalid line {index + 1} in a hunk of the patch: {line[:80]!r}."
                    " Lines of a hunk begin with a space, - or +."
                )
        index += 1
    while body and body[-1] == (" ", "") and index < len(lines) and lines[index - 1] == "":
        body.pop()  # a blank line between two files of a patch
    first = None if start is None else max(int(start) - (count != "0"), 0)
    final = not missing["+"] if seen else None
    return Hunk(lines=tuple(body), start=first, final_newline=final), index


def _ends_hunk(lines: Sequence[str], index: int, *, expects_more: bool) -> bool:
    """Whether another hunk or file begins.

    ``--- a`` and ``+++ b`` may also be a removed and an added line. They are, if the hunk expects
    more lines by its counts, or if no hunk follows.
    """
    if lines[index].startswith(("@@", "diff --git ")):
        return True
    follows = index + 2 < len(lines) and lines[index + 2].startswith("@@")
    if not follows or not _is_header(lines, index):
        return False
    # Models miscount, so headers in the form of git end a hunk in any case.
    return not expects_more or bool(_GIT_HEADER.fullmatch(f"{lines[index]}\n{lines[index + 1]}"))


def _add_hunk(patches: list[FilePatch], old: str, new: str, renamed: str, hunk: Hunk) -> None:
    if not old:
        raise ToolFailed("The patch names no file. Begin it with --- a/path and +++ b/path.")
    if old == _NULL:
        content = "".join(f"{text}\n" for sign, text in hunk.lines if sign == "+")
        if hunk.final_newline is False:
            content = content.removesuffix("\n")
        patches.append(FilePatch(kind="add", path=new, content=content))
        return
    if new == _NULL:
        patches.append(FilePatch(kind="delete", path=old, hunks=(hunk,)))
        return
    move_to = new if new != old else ""
    if patches and patches[-1].path == old and patches[-1].kind == "update":
        last = patches.pop()
        hunks = (*last.hunks, hunk)
        patches.append(FilePatch(kind="update", path=old, move_to=last.move_to, hunks=hunks))
        return
    patches.append(FilePatch(kind="update", path=old, move_to=renamed or move_to, hunks=(hunk,)))


def parse_codex(patch: str) -> list[FilePatch]:
    """The changes of a patch, by file. Raises ``ToolFailed`` if it is invalid."""
    lines = _codex_lines(patch)
    patches: list[FilePatch] = []
    index = 0
    while index < len(lines):
        line = lines[index].rstrip()
        if line.startswith(ADD):
            file_patch, index = _added(lines, index)
        elif line.startswith(DELETE):
            file_patch, index = FilePatch(kind="delete", path=line.removeprefix(DELETE)), index + 1
        elif line.startswith(UPDATE):
            file_patch, index = _updated(lines, index)
        elif not line:
            index += 1
            continue
        else:
            raise ToolFailed(
                f"Invalid line {index + 2} of the patch: {line[:80]!r}. Expected {ADD}…, {DELETE}…"
                f" or {UPDATE}…"
            )
        patches.append(file_patch)
    if not patches:
        raise ToolFailed(f"The patch changes no file. Use {ADD}…, {DELETE}… or {UPDATE}…")
    return patches


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


def _added(lines: Sequence[str], index: int) -> tuple[FilePatch, int]:
    path = lines[index].rstrip().removeprefix(ADD)
    index += 1
    content = []
    while index < len(lines) and not _is_section(lines[index]):
        if not lines[index].startswith("+"):
            raise ToolFailed(
                f"Lines of the new file {path} must begin with +: {lines[index][:80]!r}"
            )
        content.append(f"{lines[index][1:]}\n")
        index += 1
    return FilePatch(kind="add", path=path, content="".join(content)), index


def _updated(lines: Sequence[str], index: int) -> tuple[FilePatch, int]:
    path = lines[index].rstrip().removeprefix(UPDATE)
    index += 1
    move_to = ""
    if index < len(lines) and lines[index].startswith(MOVE):
        move_to = lines[index].rstrip().removeprefix(MOVE)
        index += 1
    hunks: list[Hunk] = []
    while index < len(lines) and not _is_section(lines[index]):
        hunk, index = _codex_hunk(lines, index, path)
        if hunk is not None:
            hunks.append(hunk)
    if not hunks and not move_to:
        raise ToolFailed(f"The update of {path} has no changes.")
    return FilePatch(kind="update", path=path, move_to=move_to, hunks=tuple(hunks)), index


def _codex_hunk(lines: Sequence[str], index: int, path: str) -> tuple[Hunk | None, int]:
    """The hunk that begins at a line, and the line after it; the first needs no ``@@``."""
    headings: list[str] = []
    while index < len(lines) and lines[index].startswith("@@"):
        heading = lines[index].removeprefix("@@").strip()
        if heading and not heading.startswith("-"):  # not the numbers of a unified diff
            headings.append(heading)
        index += 1
    body: list[tuple[Sign, str]] = []
    at_end = False
    while (
        index < len(lines) and not lines[index].startswith("@@") and not _is_section(lines[index])
    ):
        line = lines[index]
        index += 1
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
        return None, index
    return Hunk(lines=tuple(body), headings=tuple(headings), at_end=at_end), index
