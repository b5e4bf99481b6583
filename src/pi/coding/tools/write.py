"""The write tool: creates or replaces a file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from pi.agent.env import FileFailed
from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.base.records import Record
from pi.coding.files.errors import find_os_error, node_text
from pi.coding.files.local import LocalFiles
from pi.coding.tools.declarations import PREFER_STRICT, approval_details, description
from pi.coding.tools.matching import elisions, refuse_elisions


class WriteParams(Record):
    """Arguments of a call."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    content: Annotated[str, Meta(description="All that the file is to hold afterwards")]


def write_tool(files: LocalFiles) -> AgentTool:
    """Build the tool. A failed write leaves an existing file unchanged."""

    async def write(params: WriteParams, ctx: ToolContext) -> ToolResult:
        if params.path.endswith("/"):  # resolving would drop the slash and create a file
            folder = IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise ToolFailed(node_text(folder, "open", f"{files.resolve(params.path)}/"))
        if marks := elisions(params.content):
            refuse_elisions(marks, before=await _before(params))
        try:
            await files.write_file(params.path, params.content.encode())
        except FileFailed as error:
            raise ToolFailed(_failure(error, files.resolve(params.path))) from error
        return ToolResult.of(f"Successfully wrote to {params.path}{files.link_note(params.path)}")

    async def _before(params: WriteParams) -> str:
        try:
            return (await files.read_file(params.path)).decode("utf-8", "replace")
        except FileFailed:
            return ""

    return make_tool(
        name="write",
        label="write",
        description=description("write"),
        params=WriteParams,
        run=write,
        touches=lambda params: (files.real(params.path),),
        preview=preview_write,
        constrained_sampling=PREFER_STRICT,
        approval="write",
        format_approval_details=approval_details,
    )


def preview_write(arguments: Json) -> FilePreview | None:
    """Return the content received so far."""
    match arguments:
        case {"path": str(path), "content": str(text)}:
            return FilePreview(path=path, added=text)
        case _:
            return None


def _failure(error: FileFailed, path: Path) -> str:
    cause = find_os_error(error)
    if cause is None:
        return error.message
    if cause.filename and Path(str(cause.filename)) in path.parents:
        return node_text(cause, "mkdir", str(cause.filename))
    return node_text(cause, "open", str(path))  # not the temporary file
