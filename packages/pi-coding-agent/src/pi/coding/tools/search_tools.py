"""The tools grep (searches lines of files), find (searches names) and ls (lists a folder)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.base.records import Record
from pi.coding.files.errors import node_text
from pi.coding.files.local import LocalFiles
from pi.coding.files.text import read_lines
from pi.coding.resources.ignore import PatternTooLarge, compile_glob, expand_braces
from pi.coding.tools.declarations import approval_details, description
from pi.coding.tools.listing import (
    REFINE,
    FileListing,
    LimitNotice,
    limit_notice,
    limit_or_default,
    list_result,
    path_exists,
    require_readable,
)
from pi.coding.tools.programs import SearchPrograms
from pi.coding.tools.searching import MAX_MATCH_CHARACTERS, Match, Search, search

DEFAULT_MATCHES = 100
MAX_MATCHES = 10_000
"""Upper bound of ``limit``: only the first 2000 lines are shown anyway."""
MAX_LINE_CHARACTERS = 500
"""Characters shown of one line."""
MAX_CONTEXT_FILE_BYTES = 64 * 1024 * 1024
"""Largest file that is read again for context lines."""
CUT = "... [truncated]"


class GrepParams(Record):
    """Arguments of a call."""

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
        float | UnsetType,
        Meta(description=f"Matches to show at most; {DEFAULT_MATCHES} if left out"),
    ] = UNSET


def grep_tool(files: LocalFiles, programs: SearchPrograms, *, home: Path) -> AgentTool:
    """Build the tool."""

    async def grep(params: GrepParams, ctx: ToolContext) -> ToolResult:
        path = await _permitted_path(files, params.path or ".")
        if not path_exists(path):
            raise ToolFailed(f"Path not found: {path}")
        require_readable(path)
        limit = min(limit_or_default(params.limit, DEFAULT_MATCHES), MAX_MATCHES)
        query = Search(
            pattern=params.pattern,
            path=path,
            glob=params.glob or "",
            ignore_case=params.ignore_case is True,
            literal=params.literal is True,
            limit=limit,
        )
        matches = await search(query, programs, home=home, is_visible=files.visibility())
        if not matches:
            return ToolResult.of("No matches found", useless=True)
        context = 0 if isinstance(params.context, UnsetType) else max(int(params.context), 0)
        lines = await asyncio.to_thread(_format_matches, matches[:limit], query.folder, context)
        too_many = limit_notice(limit, len(matches), ("match", "matches"), REFINE)
        return list_result([line for line, _ in lines], too_many, _truncation_notice(lines))

    return make_tool(
        name="grep",
        label="grep",
        description=description("grep"),
        params=GrepParams,
        run=grep,
        effects=lambda params: files.effects(files.effect(params.path or ".", below=True)),
        replay="safe",
        approval="read",
        format_approval_details=approval_details,
    )


async def _permitted_path(files: LocalFiles, reference: str) -> Path:
    """Return what is searched, after all guards have agreed to it. Raises ``ToolFailed``."""
    path = (await files.permit_read(reference)).path
    try:
        return await asyncio.to_thread(_for_every_process, path)
    except OSError:  # such as a name that is too long
        return path


def _for_every_process(path: Path) -> Path:
    """Return a path without links of ``/proc``, which lead elsewhere in the process that searches.

    ``/proc/self/cwd`` is the project in pi, and ``/`` in the process that starts ripgrep.
    """
    done, rest = Path("/"), list(path.parts[1:])
    for _ in range(_MAX_LINKS):
        if not rest:
            return path
        name = rest.pop(0)
        done = done.parent if name == ".." else done / name
        if done == Path("/proc"):
            return path.resolve()
        if done.is_symlink():
            rest = [*done.readlink().parts, *rest]
            done = Path("/") if rest[0] == "/" else done.parent
            rest = rest[1:] if rest[0] == "/" else rest
    return path.resolve()


_MAX_LINKS = 1000


def _truncation_notice(lines: Sequence[tuple[str, bool]]) -> LimitNotice | None:
    if not any(cut for _, cut in lines):
        return None
    notice = f"Some lines truncated to {MAX_LINE_CHARACTERS} chars. Use read tool to see full lines"
    return LimitNotice(detail="linesTruncated", value=True, notice=notice)


def _format_matches(
    found_matches: Sequence[Match], folder: Path, context: int
) -> list[tuple[str, bool]]:
    """Return formatted lines, each with whether it was truncated."""
    formatted: list[tuple[str, bool]] = []
    for path, matches in groupby(found_matches, key=lambda match: match.path):
        texts = {match.number: match.text for match in matches}
        lines = (_with_context(folder / path, texts, context) if context else {}) | texts
        for number in sorted(lines):
            text, cut = _truncate_line(lines[number])
            mark = f":{number}:" if number in texts else f"-{number}-"
            formatted.append((f"{path}{mark} {text}", cut))
    return formatted


def _with_context(file: Path, numbers: Iterable[int], context: int) -> dict[int, str]:
    """Return the lines ``numbers`` and their context; empty if the file is gone or too large."""
    try:
        if file.stat().st_size > MAX_CONTEXT_FILE_BYTES:
            return {}
        lines = read_lines(file, _context_ranges(numbers, context), longest=MAX_MATCH_CHARACTERS)
    except OSError:
        return {}
    return {number: line.decode("utf-8", "replace").rstrip("\r") for number, line in lines.items()}


def _context_ranges(numbers: Iterable[int], context: int) -> list[range]:
    ranges: list[range] = []
    for number in sorted(numbers):
        begin = max(number - context, ranges[-1].stop if ranges else 1)
        ranges.append(range(begin, number + context + 1))
    return ranges


def _truncate_line(text: str) -> tuple[str, bool]:
    if len(text) <= MAX_LINE_CHARACTERS:
        return text, False
    return text[:MAX_LINE_CHARACTERS] + CUT, True


DEFAULT_RESULTS = 1000


class FindParams(Record):
    """Arguments of a call."""

    pattern: Annotated[
        str, Meta(description="Glob for names, e.g. *.py, or for paths, e.g. src/**/*.test.ts")
    ]
    path: Annotated[
        str | UnsetType, Meta(description="Folder to search; the working folder if left out")
    ] = UNSET
    limit: Annotated[
        float | UnsetType,
        Meta(description=f"Results to show at most; {DEFAULT_RESULTS} if left out"),
    ] = UNSET


def find_tool(files: LocalFiles, listed: FileListing) -> AgentTool:
    """Build the tool."""

    async def find(params: FindParams, ctx: ToolContext) -> ToolResult:
        root = await _permitted_path(files, params.path or ".")
        limit = limit_or_default(params.limit, DEFAULT_RESULTS)
        if not (path_exists(root) and root.is_dir()):
            raise ToolFailed(
                f"[fd error]: Search path '{root}' is not a directory.\n"
                "[fd error]: No valid search paths given."
            )
        require_readable(root)
        try:
            matches = await asyncio.to_thread(name_matcher, params.pattern, root)
        except PatternTooLarge as error:
            raise ToolFailed(f"The pattern cannot be used: {error}.") from error
        accepts = _visible_only(matches, root, files.visibility())
        paths = await listed.below(root, accepts=accepts, most=limit + 1)
        if not paths:
            return ToolResult.of("No files found matching pattern", useless=True)
        names = ("result", "results")
        return list_result(paths[:limit], limit_notice(limit, len(paths), names, REFINE))

    return make_tool(
        name="find",
        label="find",
        description=description("find"),
        params=FindParams,
        run=find,
        effects=lambda params: files.effects(files.effect(params.path or ".", below=True)),
        replay="safe",
        approval="read",
        format_approval_details=approval_details,
    )


def _visible_only(
    matches: Callable[[str], bool], root: Path, is_visible: Callable[[Path], bool] | None
) -> Callable[[str], bool]:
    if is_visible is None:
        return matches
    return lambda path: matches(path) and is_visible(root / path)


def name_matcher(pattern: str, root: Path) -> Callable[[str], bool]:
    """Return a function that matches paths below ``root``; folders end in a slash.

    A pattern with a slash matches paths from ``root`` or any folder below it, others match names.
    A pattern in lower case ignores case, and one that ends in a slash matches folders only.
    Raises ``PatternTooLarge`` if matching would take too long.
    """
    only_folders = pattern.endswith("/") and len(pattern) > 1
    pattern = pattern.rstrip("/") if only_folders else pattern
    start = f"{root}/".replace(os.sep, "/").replace("//", "/")
    absolute = Path(pattern).is_absolute()
    if "/" in pattern and not absolute:
        pattern = f"**/{pattern.removeprefix('./').removeprefix('**/')}"
    expand_braces(pattern)
    glob = compile_glob(pattern, ignore_case=pattern == pattern.lower())

    def matches(path: str) -> bool:
        if only_folders and not path.endswith("/"):
            return False
        plain = path.removesuffix("/")
        if absolute:
            plain = start + plain
        elif "/" not in pattern:
            plain = plain.rpartition("/")[2]
        return glob.fullmatch(plain) is not None

    return matches


DEFAULT_ENTRIES = 500


class LsParams(Record):
    """Arguments of a call."""

    path: Annotated[
        str | UnsetType, Meta(description="Folder to list; the working folder if left out")
    ] = UNSET
    limit: Annotated[
        float | UnsetType,
        Meta(description=f"Entries to show at most; {DEFAULT_ENTRIES} if left out"),
    ] = UNSET


def ls_tool(files: LocalFiles) -> AgentTool:
    """Build the tool."""

    async def ls(params: LsParams, ctx: ToolContext) -> ToolResult:
        folder = (await files.permit_read(params.path or ".")).path
        limit = limit_or_default(params.limit, DEFAULT_ENTRIES)
        names = await asyncio.to_thread(_folder_names, folder, files.visibility())
        if not names:
            return ToolResult.of("(empty directory)")
        return list_result(names[:limit], limit_notice(limit, len(names), ("entry", "entries")))

    return make_tool(
        name="ls",
        label="ls",
        description=description("ls"),
        params=LsParams,
        run=ls,
        effects=lambda params: files.effects(files.effect(params.path or ".", below=True)),
        replay="safe",
        approval="read",
        format_approval_details=approval_details,
    )


def _folder_names(folder: Path, is_visible: Callable[[Path], bool] | None) -> list[str]:
    """Return names sorted without regard to case, folders with a slash; links are followed.

    Names for which ``is_visible`` returns False are left out.
    """
    if not path_exists(folder):
        raise ToolFailed(f"Path not found: {folder}")
    if not folder.is_dir():
        raise ToolFailed(f"Not a directory: {folder}")
    try:
        with os.scandir(folder) as entries:
            names = [f"{entry.name}/" if _is_folder(entry) else entry.name for entry in entries]
    except OSError as error:
        raise ToolFailed(node_text(error, "scandir", str(folder))) from error
    if is_visible is not None:
        names = [name for name in names if is_visible(folder / name)]
    return sorted(names, key=lambda name: (name.lower(), name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a cycle of links
        return False
