"""Merge conflicts that ``read`` has shown, numbered: ``conflict://N``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.batteries.rich_files.files import read_file, relative, write_file
from pi.extension import (
    ExtensionAPI,
    PiError,
    Record,
    Resource,
    ResourceRef,
    ResourceWindow,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    replace,
)

MAX_FILE = 16 * 1024**2
_MARKER = "<<<<<<< "
_START = re.compile(r"^<{7}(?: .*)?\r?$")
_BASE = re.compile(r"^\|{7}(?: .*)?\r?$")
_MIDDLE = re.compile(r"^={7}\r?$")
_END = re.compile(r"^>{7}(?: .*)?\r?$")
SIDES = ("ours", "theirs", "base", "both")


class Conflict(Record):
    """One conflict of a file, as it was when it was read."""

    path: Path
    line: int
    text: str
    """The whole block with its markers, including the last line break."""
    ours: str
    theirs: str
    base: str | None = None

    def side(self, name: str) -> str:
        """The text of one side. Raises ``ToolFailed`` if there is none."""
        match name:
            case "ours":
                return self.ours
            case "theirs":
                return self.theirs
            case "both":
                return self.ours + self.theirs
            case "base" if self.base is not None:
                return self.base
            case "base":
                raise ToolFailed(
                    "This conflict has no base; git writes it with merge.conflictStyle=diff3."
                )
            case _:
                raise ToolFailed(f"Unknown side {name!r}; there are {', '.join(SIDES)}.")


def find_conflicts(path: Path, text: str) -> Iterator[Conflict]:
    """Yield all complete conflicts of a text; a block without its end is skipped."""
    lines = text.splitlines(keepends=True)
    index = 0
    while index < len(lines):
        block = _block(lines, index) if _START.match(lines[index].rstrip("\n")) else None
        if block is None:
            index += 1
            continue
        base, middle, end = block
        yield Conflict(
            path=path,
            line=index + 1,
            text="".join(lines[index : end + 1]),
            ours="".join(lines[index + 1 : middle if base is None else base]),
            base=None if base is None else "".join(lines[base + 1 : middle]),
            theirs="".join(lines[middle + 1 : end]),
        )
        index = end + 1


def _block(lines: list[str], start: int) -> tuple[int | None, int, int] | None:
    """The indices of the base, middle and end markers; ``None`` if the block is incomplete."""
    base = middle = None
    for index in range(start + 1, len(lines)):
        line = lines[index].rstrip("\n")
        if _START.match(line):
            return None
        if middle is None and base is None and _BASE.match(line):
            base = index
        elif middle is None and _MIDDLE.match(line):
            middle = index
        elif middle is not None and _END.match(line):
            return base, middle, index
    return None


class ConflictRegistry:
    """The conflicts that ``read`` has shown in this session, by number."""

    def __init__(self) -> None:
        self._conflicts: dict[int, Conflict] = {}
        self._last = 0

    def record(self, path: Path, text: str) -> dict[int, Conflict]:
        """Number the conflicts of a file; unchanged ones keep their number."""
        numbers = {c.text: n for n, c in self._conflicts.items() if c.path == path}
        numbered: dict[int, Conflict] = {}
        for conflict in find_conflicts(path, text):
            number = numbers.pop(conflict.text, None)
            if number is None:
                self._last += 1
                number = self._last
            numbered[number] = conflict
        self._conflicts = {n: c for n, c in self._conflicts.items() if c.path != path} | numbered
        return numbered

    def get(self, number: str) -> Conflict:
        """The conflict of a number. Raises ``ToolFailed`` if there is none."""
        conflict = (
            self._conflicts.get(int(number)) if number.isascii() and number.isdigit() else None
        )
        if conflict is None:
            numbers = ", ".join(map(str, self._conflicts)) or "none; read the conflicted file first"
            raise ToolFailed(f"There is no conflict {number[:40]!r}. Known: {numbers}.")
        return conflict

    def all(self) -> dict[int, Conflict]:
        """All known conflicts by number. Raises ``ToolFailed`` if there are none."""
        if not self._conflicts:
            raise ToolFailed("No conflicts are known; read the conflicted file first.")
        return dict(self._conflicts)

    def forget(self, number: int) -> None:
        """Forget a resolved conflict."""
        self._conflicts.pop(number, None)


def resolve_conflict(text: str, conflict: Conflict, content: str) -> str:
    """Return ``text`` with a conflict replaced. ``@ours`` and the like stand for a side.

    Raises ``ToolFailed`` if the file has changed at that place.
    """
    starts = [match.start() for match in re.finditer(re.escape(conflict.text), text)]
    if not starts:
        raise ToolFailed(
            f"The conflict at line {conflict.line} of {conflict.path.name} has changed;"
            " read the file again."
        )
    # Of several equal conflicts, choose the one nearest to the line where it was shown.
    start = min(starts, key=lambda start: abs(text.count("\n", 0, start) + 1 - conflict.line))
    word = content.strip()
    if word.startswith("@") and word[1:] in SIDES:
        content = conflict.side(word[1:])
    elif content and not content.endswith("\n") and conflict.text.endswith("\n"):
        content += "\n"
    return text[:start] + content + text[start + len(conflict.text) :]


class ConflictHandler:
    """``conflict://N``, ``conflict://N/ours`` and ``conflict://*``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._known = ConflictRegistry()

    async def after_read(self, params: Any, ctx: ToolContext, inner: Any) -> Any:
        """Wrap ``read``: number the conflicts of the file, and note how to resolve them."""
        result: ToolResult = await inner(params)
        texts = [part.text for part in result.content if isinstance(part, Text)]
        if "://" in params.path or not any(_MARKER in text for text in texts):
            return result
        path = self._pi.context.files.resolve(params.path)
        if not path.is_file() or path.stat().st_size > MAX_FILE:
            return result
        data = await read_file(self._pi, str(path), MAX_FILE)
        numbered = self._known.record(path, data.decode("utf-8", "replace"))
        if not numbered:
            return result
        listing = ", ".join(f"conflict://{n} (line {c.line})" for n, c in numbered.items())
        note = (
            f"[Merge conflicts: {listing}. Read conflict://N/ours, /theirs or /base; write the"
            " resolution, or @ours, @theirs, @base or @both, to conflict://N or conflict://*.]"
        )
        return replace(result, content=(*result.content, Text(text=note)))

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The files of the conflicts: writes to them run in order. Empty for an unknown number."""
        try:
            conflicts = self._targets(ref.rest)
        except ToolFailed:
            return ()
        return tuple(dict.fromkeys(str(conflict.path) for conflict in conflicts.values()))

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return a conflict, one of its sides, or the list of all."""
        if ref.rest in ("", "*"):
            lines = [
                f"conflict://{number}: {relative(self._pi, str(conflict.path))}:{conflict.line}"
                for number, conflict in self._known.all().items()
            ]
            return Resource(text="\n".join(lines))
        number, slash, side = ref.rest.partition("/")
        conflict = self._known.get(number)
        return Resource(text=conflict.side(side) if slash else conflict.text)

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Resolve one conflict, or all."""
        if "/" in ref.rest:
            raise ToolFailed(f"{ref.text} is read-only; write to conflict://N without a side.")
        lines, failures = [], []
        written: dict[str, None] = {}
        targets = self._targets(ref.rest)
        for number, conflict in targets.items():
            display_path = relative(self._pi, str(conflict.path))
            try:
                data = await read_file(self._pi, str(conflict.path), MAX_FILE)
                before = data.decode("utf-8")
                changed = resolve_conflict(before, conflict, text)
                await write_file(self._pi, str(conflict.path), changed.encode())
            except UnicodeDecodeError:
                failures.append(f"conflict://{number}: {display_path} is not UTF-8")
            except PiError as error:
                failures.append(f"conflict://{number}: {error.message}")
            else:
                self._known.forget(number)
                self._known.record(conflict.path, changed)
                written[str(conflict.path)] = None
                lines.append(f"Resolved conflict://{number} in {display_path}:{conflict.line}")
        if failures and not lines:
            raise ToolFailed("\n".join(failures))
        text = "\n".join((*lines, *failures))
        # Extensions that show snapshots of files read this.
        details = {"resolvedFiles": [*written]}
        return ToolResult.of(text, details=details, is_error=bool(failures))

    def _targets(self, rest: str) -> dict[int, Conflict]:
        if rest == "*":
            return self._known.all()
        return {int(rest): self._known.get(rest)} if rest.isdigit() else {0: self._known.get(rest)}
