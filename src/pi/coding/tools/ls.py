"""The ls tool: lists a folder."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.base.records import Record
from pi.coding.files.errors import node_text
from pi.coding.files.local import LocalFiles
from pi.coding.tools.declarations import approval_details, description
from pi.coding.tools.listing import limit_notice, limit_or_default, list_result, path_exists

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
        folder = files.resolve(params.path or ".")
        limit = limit_or_default(params.limit, DEFAULT_ENTRIES)
        names = await asyncio.to_thread(_names, folder)
        if not names:
            return ToolResult.of("(empty directory)")
        return list_result(names[:limit], limit_notice(limit, len(names), ("entry", "entries")))

    return make_tool(
        name="ls",
        label="ls",
        description=description("ls"),
        params=LsParams,
        run=ls,
        replay="safe",
        approval="read",
        format_approval_details=approval_details,
    )


def _names(folder: Path) -> list[str]:
    """Return names sorted without regard to case, folders with a slash; links are followed."""
    if not path_exists(folder):
        raise ToolFailed(f"Path not found: {folder}")
    if not folder.is_dir():
        raise ToolFailed(f"Not a directory: {folder}")
    try:
        with os.scandir(folder) as found:
            names = [f"{entry.name}/" if _is_folder(entry) else entry.name for entry in found]
    except OSError as error:
        raise ToolFailed(node_text(error, "scandir", str(folder))) from error
    return sorted(names, key=lambda name: (name.lower(), name))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a cycle of links
        return False
