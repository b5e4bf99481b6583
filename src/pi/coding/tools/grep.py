"""grep: lines of files that match a pattern."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.base.records import Record
from pi.coding.files.local import LocalFiles
from pi.coding.files.text import read_lines
from pi.coding.tools.declarations import description
from pi.coding.tools.listing import (
    REFINE,
    Limited,
    at_least_one,
    is_there,
    listing,
    more_than,
    must_be_open,
)
from pi.coding.tools.programs import SearchPrograms
from pi.coding.tools.searching import LONGEST, Match, Search, search

MOST_MATCHES = 100
MOST_EVER = 10_000
"""Whatever the model asks for: of so many lines only the first 2000 are shown."""
MOST_CHARACTERS = 500
"""Of one line."""
LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file that is read once more for the lines around a match."""
CUT = "... [truncated]"


class GrepParams(Record):
    """What the model says."""

    pattern: Annotated[str, Meta(description="Regular expression, or text if literal is set")]
    path: Annotated[
        str | UnsetType,
        Meta(description="File or folder to search; the working folder if left out"),
    ] = UNSET
    glob: Annotated[
        str | UnsetType, Meta(description="Only files that match, e.g. *.ts or src/**/*.py")
    ] = UNSET
    ignore_case: Annotated[
        bool | UnsetType, Meta(description="Small and capital letters are the same")
    ] = UNSET
    literal: Annotated[
        bool | UnsetType, Meta(description="The pattern is plain text, not an expression")
    ] = UNSET
    context: Annotated[
        float | UnsetType, Meta(description="Lines to show before and after each match")
    ] = UNSET
    limit: Annotated[
        float | UnsetType, Meta(description=f"Matches to show at most; {MOST_MATCHES} if left out")
    ] = UNSET


def grep_tool(files: LocalFiles, programs: SearchPrograms, *, home: Path) -> AgentTool:
    """The tool."""

    async def grep(params: GrepParams, ctx: ToolContext) -> ToolResult:
        place = files.resolve(params.path or ".")
        if not is_there(place):
            raise ToolFailed(f"Path not found: {place}")
        must_be_open(place)
        limit = min(at_least_one(params.limit, MOST_MATCHES), MOST_EVER)
        wanted = Search(
            pattern=params.pattern,
            place=place,
            glob=params.glob or "",
            ignore_case=params.ignore_case is True,
            literal=params.literal is True,
            limit=limit,
        )
        found = await search(wanted, programs, home=home)
        if not found:
            return ToolResult.of("No matches found", useless=True)
        around = 0 if isinstance(params.context, UnsetType) else max(int(params.context), 0)
        lines = await asyncio.to_thread(_shown, found[:limit], wanted.folder, around)
        too_many = more_than(limit, len(found), ("match", "matches"), REFINE)
        return listing([line for line, _ in lines], too_many, _shortened(lines))

    return make_tool(
        name="grep",
        label="grep",
        description=description("grep"),
        params=GrepParams,
        run=grep,
        replay="safe",
    )


def _shortened(lines: Sequence[tuple[str, bool]]) -> Limited | None:
    if not any(cut for _, cut in lines):
        return None
    notice = f"Some lines truncated to {MOST_CHARACTERS} chars. Use read tool to see full lines"
    return Limited(detail="linesTruncated", value=True, notice=notice)


def _shown(found: Sequence[Match], folder: Path, around: int) -> list[tuple[str, bool]]:
    """Lines as the model sees them, each with whether it was cut."""
    shown: list[tuple[str, bool]] = []
    for path, matches in groupby(found, key=lambda match: match.path):
        texts = {match.number: match.text for match in matches}
        lines = (_around(folder / path, texts, around) if around else {}) | texts
        for number in sorted(lines):
            text, cut = _bounded(lines[number])
            mark = f":{number}:" if number in texts else f"-{number}-"
            shown.append((f"{path}{mark} {text}", cut))
    return shown


def _around(file: Path, numbers: Iterable[int], around: int) -> dict[int, str]:
    """These lines and those around them; none if the file is gone or too large by now."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            return {}
        found = read_lines(file, _near(numbers, around), longest=LONGEST)
    except OSError:
        return {}
    return {number: line.decode("utf-8", "replace").rstrip("\r") for number, line in found.items()}


def _near(numbers: Iterable[int], around: int) -> list[range]:
    ranges: list[range] = []
    for number in sorted(numbers):
        begin = max(number - around, ranges[-1].stop if ranges else 1)
        ranges.append(range(begin, number + around + 1))
    return ranges


def _bounded(text: str) -> tuple[str, bool]:
    if len(text) <= MOST_CHARACTERS:
        return text, False
    return text[:MOST_CHARACTERS] + CUT, True
