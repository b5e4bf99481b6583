"""write: give a file new content."""

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
from pi.coding.files.errors import cause_of, node_text
from pi.coding.files.local import LocalFiles
from pi.coding.tools.declarations import PREFER_STRICT, description
from pi.coding.tools.matching import elisions, refuse_elisions


class WriteParams(Record):
    """What the model says."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    content: Annotated[str, Meta(description="All that the file is to hold afterwards")]


def write_tool(files: LocalFiles) -> AgentTool:
    """The tool. A failed write leaves the old file whole."""

    async def write(params: WriteParams, ctx: ToolContext) -> ToolResult:
        if params.path.endswith("/"):  # resolving it would make a file of that name
            folder = IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise ToolFailed(node_text(folder, "open", f"{files.resolve(params.path)}/"))
        if marks := elisions(params.content):
            refuse_elisions(marks, before=await _before(params))
        try:
            await files.write_file(params.path, params.content.encode())
        except FileFailed as problem:
            raise ToolFailed(_failure(problem, files.resolve(params.path))) from problem
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
    )


def preview_write(arguments: Json) -> FilePreview | None:
    """The file as far as its content has come."""
    match arguments:
        case {"path": str(path), "content": str(text)}:
            return FilePreview(path=path, text=text)
        case _:
            return None


def _failure(problem: FileFailed, path: Path) -> str:
    cause = cause_of(problem)
    if cause is None:
        return problem.message
    if cause.filename and Path(str(cause.filename)) in path.parents:
        return node_text(cause, "mkdir", str(cause.filename))
    return node_text(cause, "open", str(path))  # not of the file beside it, which nobody knows
