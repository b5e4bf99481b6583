"""The tools read (lines of a file, or an image) and write (creates or replaces a file)."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import UNSET, Meta, UnsetType

from pi.agent.env import FileFailed
from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json, Text
from pi.base.records import Record
from pi.coding.files.disk import GuardedPath
from pi.coding.files.errors import find_os_error, node_text
from pi.coding.files.local import LocalFiles
from pi.coding.files.text import Window, window_of
from pi.coding.shell.output import MAX_BYTES, Size, keep_head
from pi.coding.shell.spill import size_text
from pi.coding.tools.declarations import PREFER_STRICT, approval_details, description
from pi.coding.tools.images import (
    HEADER,
    ImageLimits,
    ImageType,
    PreparedImage,
    image_type,
    prepare_image,
)
from pi.coding.tools.matching import elisions, refuse_elisions

_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]*://"
MAX_IMAGE_BYTES = 256 * 1024 * 1024


class ReadParams(Record):
    """Arguments of a call."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    offset: Annotated[float | UnsetType, Meta(description="Line to begin with; the first is 1")] = (
        UNSET
    )
    limit: Annotated[float | UnsetType, Meta(description="How many lines to show at most")] = UNSET


def read_tool(
    files: LocalFiles, *, image_limits: Callable[[], ImageLimits] = ImageLimits
) -> AgentTool:
    """Build the tool. ``image_limits`` is called each time, because the model may change."""

    async def read(params: ReadParams, ctx: ToolContext) -> ToolResult:
        skip = _skipped_lines(params)
        path = files.resolve(params.path)
        stop = threading.Event()
        try:
            file = await files.permit_read(params.path)
            text = await files.read_open(params.path)
            content = await asyncio.to_thread(
                _read_window_or_image, file, text, params, skip, image_limits(), stop
            )
        except (OSError, ValueError) as error:
            raise ToolFailed(_describe_failure(error, path)) from error
        finally:
            stop.set()  # a thread cannot be cancelled; it checks this flag
        if isinstance(content, PreparedImage):
            return _image_result(content)
        return _text_result(content, params, skip, path)

    return make_tool(
        name="read",
        label="read",
        description=description("read"),
        params=ReadParams,
        run=read,
        effects=lambda params: files.effects(files.effect(params.path)),
        replay="safe",
        constrained_sampling=PREFER_STRICT,
        approval="read",
        format_approval_details=approval_details,
    )


def _skipped_lines(params: ReadParams) -> int:
    """Return the number of lines before the window."""
    return 0 if isinstance(params.offset, UnsetType) else max(int(params.offset) - 1, 0)


def _limit(params: ReadParams) -> int | None:
    return None if isinstance(params.limit, UnsetType) else max(int(params.limit), 0)


def _read_window_or_image(
    file: GuardedPath,
    text: bytes | None,
    params: ReadParams,
    skip: int,
    limits: ImageLimits,
    stop: threading.Event,
) -> Window | PreparedImage:
    if text is not None:  # open in an editor: what the user sees, saved or not
        return window_of(
            BytesIO(text), skip=skip, limit=_limit(params), keep=MAX_BYTES + 4, stop=stop
        )
    with file.open() as opened:
        kind = _image_type(opened)
        if kind is not None:
            return prepare_image(opened.read(), kind, limits)
        # A few bytes more than are shown, so that the last character is complete.
        limit = _limit(params)
        return window_of(opened, skip=skip, limit=limit, keep=MAX_BYTES + 4, stop=stop)


def _image_type(file: BinaryIO) -> ImageType | None:
    if os.fstat(file.fileno()).st_size > MAX_IMAGE_BYTES:
        return None
    kind = image_type(file.read(HEADER))
    file.seek(0)
    return kind


def _describe_failure(error: OSError | ValueError, path: Path) -> str:
    if isinstance(error, ValueError):  # a zero byte
        return f"No file can have the name {str(path)!r}."
    if error.errno == errno.EISDIR:
        return node_text(error, "read")
    if error.errno == errno.EINVAL:
        return f"Cannot read {path}: it is a device or a pipe, not a regular file."
    return node_text(error, "access", str(path))


def _image_result(image: PreparedImage) -> ToolResult:
    text = Text(text="\n".join([f"Read image file [{image.mime}]", *image.notes]))
    if image.image is None:
        return ToolResult(content=(text,))
    structured = {
        "type": "image",
        "data": image.image.data,
        "mimeType": image.mime,
        "note": text.text,
    }
    return ToolResult(content=(text, image.image), structured_content=structured)


def _text_result(window: Window, params: ReadParams, skip: int, path: Path) -> ToolResult:
    total = f"{window.total}" if window.exact else f"more than {window.total}"
    if skip >= window.total:
        raise ToolFailed(f"Offset {skip + 1} is beyond end of file ({total} lines total)")
    cut = keep_head(window.data, total=Size(window.lines, window.size))
    last = skip + cut.output_lines
    if cut.first_line_exceeds_limit:
        unseen = not window.exact and window.first_line_size == window.size
        size = f"{'more than ' * unseen}{size_text(window.first_line_size)}"
        name = _quote(params.path if params.path[:1] not in "@~" else str(path))
        notice = (
            f"[Line {skip + 1} is {size}, exceeds "
            f"{size_text(MAX_BYTES)} limit. "
            f"Use bash: sed -n '{skip + 1}p' {name} | head -c {MAX_BYTES}]"
        )
        return _shown(notice, details=_details(cut.as_json()))
    if cut.truncated:
        why = f" ({size_text(MAX_BYTES)} limit)" if cut.truncated_by == "bytes" else ""
        summary = f"Showing lines {skip + 1}-{last} of {total}{why}."
        notice = f"[{summary} Use offset={last + 1} to continue.]"
        return _shown(f"{cut.content}\n\n{notice}", details=_details(cut.as_json()))
    limit = _limit(params)
    if limit is not None and (remaining := window.total - skip - limit) > 0:
        more = f"{remaining}" if window.exact else f"More than {remaining}"
        next_line = skip + limit + 1
        notice = f"[{more} more lines in file. Use offset={next_line} to continue.]"
        return _shown(f"{cut.content}\n\n{notice}")
    return _shown(cut.content)


def _shown(text: str, *, details: Json | UnsetType = UNSET) -> ToolResult:
    return ToolResult.of(text, details=details, structured_content=text)


def _quote(word: str) -> str:
    import shlex  # lazy: needed only for lines above 50 KB

    return shlex.quote(word)


def _details(truncation: Json) -> Json:
    return {"truncation": truncation}


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
        if re.match(_ADDRESS, params.path):
            raise ToolFailed(f"{params.path} is an address, not a file. Nothing was written.")
        if marks := elisions(params.content):
            refuse_elisions(marks, before=await _text_before(params))
        try:
            await files.write_file(params.path, params.content.encode())
        except FileFailed as error:
            raise ToolFailed(_write_failure(error, files.resolve(params.path))) from error
        return ToolResult.of(f"Successfully wrote to {params.path}{files.link_note(params.path)}")

    async def _text_before(params: WriteParams) -> str:
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
        effects=lambda params: files.effects(files.effect(params.path, writes=True)),
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


def _write_failure(error: FileFailed, path: Path) -> str:
    cause = find_os_error(error)
    if cause is None:
        return error.message
    if cause.filename and Path(str(cause.filename)) in path.parents:
        return node_text(cause, "mkdir", str(cause.filename))
    return node_text(cause, "open", str(path))  # not the temporary file
