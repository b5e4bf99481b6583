"""The find tool: files and folders whose names match a glob pattern."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.base.records import Record
from pi.coding.files.local import LocalFiles
from pi.coding.resources.ignore import PatternTooLarge, compile_glob, expand_braces
from pi.coding.tools.declarations import approval_details, description
from pi.coding.tools.listing import (
    REFINE,
    FileListing,
    limit_notice,
    limit_or_default,
    list_result,
    path_exists,
    require_readable,
)

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
        root = files.resolve(params.path or ".")
        limit = limit_or_default(params.limit, DEFAULT_RESULTS)
        if not (path_exists(root) and root.is_dir()):
            raise ToolFailed(
                f"[fd error]: Search path '{root}' is not a directory.\n"
                "[fd error]: No valid search paths given."
            )
        require_readable(root)
        try:
            accepts = await asyncio.to_thread(name_matcher, params.pattern, root)
        except PatternTooLarge as error:
            raise ToolFailed(f"The pattern cannot be used: {error}.") from error
        found = await listed.below(root, accepts=accepts, most=limit + 1)
        if not found:
            return ToolResult.of("No files found matching pattern", useless=True)
        names = ("result", "results")
        return list_result(found[:limit], limit_notice(limit, len(found), names, REFINE))

    return make_tool(
        name="find",
        label="find",
        description=description("find"),
        params=FindParams,
        run=find,
        replay="safe",
        approval="read",
        format_approval_details=approval_details,
    )


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
