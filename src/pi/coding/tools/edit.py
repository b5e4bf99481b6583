"""edit: replace passages of a file."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from pi.agent.error_codes import FileFailed
from pi.agent.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.agent.tool_forms import make_tool
from pi.ai.messages import Json
from pi.base.records import UNREADABLE, Meta, Record
from pi.coding.files.local import LocalFiles, read_whole
from pi.coding.files.node_errors import cause_of, node_code
from pi.coding.files.text import NotText, TextForm, decode
from pi.coding.tools.descriptions import PREFER_STRICT, description
from pi.coding.tools.editing import Edit, apply_edits
from pi.coding.tools.elision import elisions, refuse_elisions

if TYPE_CHECKING:
    from pi.coding.tools.diff import Diff


MARK = "\ufeff"
LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is edited: its text is held and compared several times over."""


class EditParams(Record):
    """What the model says."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    edits: Annotated[
        tuple[Edit, ...],
        Meta(
            description="Replacements, each matched against the file as it is now. They must not "
            "overlap; join changes to the same or adjacent lines into one"
        ),
    ]


def edit_tool(files: LocalFiles) -> AgentTool:
    """The tool. A failed edit leaves the old file whole."""

    async def edit(params: EditParams, ctx: ToolContext) -> ToolResult:
        data = await _told(params.path, files.read_file(params.path, most=LARGEST))
        text, form = _text(data, params.path)
        changed, diff = await asyncio.to_thread(_edited, text, form, params)
        await _told(params.path, files.write_file(params.path, form.encode(changed)))
        details: Json = {"diff": diff.display(), "patch": diff.patch(params.path)}
        if diff.first_changed_line is not None:
            details["firstChangedLine"] = diff.first_changed_line
        count = len(params.edits)
        done = f"Successfully replaced {count} block(s) in {params.path}."
        return ToolResult.of(done + files.link_note(params.path), details=details)

    return make_tool(
        name="edit",
        label="edit",
        description=description("edit"),
        params=EditParams,
        run=edit,
        prepare_arguments=prepare_edit,
        touches=lambda params: (files.real(params.path),),
        preview=lambda arguments: preview_edit(arguments, files),
        constrained_sampling=PREFER_STRICT,
    )


def prepare_edit(arguments: Json) -> Json:
    """Arguments in the form of the schema, of models that remember another one.

    One replacement may stand beside the path, and the list may be a JSON string.
    """
    mended = dict(arguments)
    if isinstance(mended.get("edits"), str):
        try:
            mended["edits"] = msgspec.json.decode(mended["edits"])
        except UNREADABLE:
            return arguments
    if "edits" not in mended and "oldText" in mended and "newText" in mended:
        mended["edits"] = [{name: mended.pop(name) for name in ("oldText", "newText")}]
    return mended


def preview_edit(arguments: Json, files: LocalFiles) -> FilePreview | None:
    """The file with the replacements that have come so far; ``None`` if they do not fit it."""
    match arguments:
        case {"path": str(path), "edits": [*given]}:
            pass
        case _:
            return None
    edits = tuple(
        Edit(old_text=old, new_text=new)
        for each in given
        if isinstance(each, dict)
        and isinstance(old := each.get("oldText"), str)
        and isinstance(new := each.get("newText"), str)
    )
    try:
        text, form = decode(read_whole(files.resolve(path), most=LARGEST))
        changed = _applied(text, form, edits, path) if edits else text
    except (OSError, NotText, ToolFailed):
        return None
    return FilePreview(path=path, text=changed)


def _applied(text: str, form: TextForm, edits: tuple[Edit, ...], path: str) -> str:
    if form.mark:  # which read shows at the beginning of the first line, and the file keeps anyway
        edits = tuple(
            Edit(old_text=edit.old_text.lstrip(MARK), new_text=edit.new_text.lstrip(MARK))
            for edit in edits
        )
    return apply_edits(text, edits, path=path, line_end=form.line_end)


def _edited(text: str, form: TextForm, params: EditParams) -> tuple[str, Diff]:
    from pi.coding.tools.diff import Diff  # the first request needs the tool, the first edit this

    for edit in params.edits:
        refuse_elisions(elisions(edit.new_text), before=text)
    changed = _applied(text, form, params.edits, params.path)
    return changed, Diff(text.replace("\r\n", "\n"), changed.replace("\r\n", "\n"))


def _text(data: bytes, path: str) -> tuple[str, TextForm]:
    try:
        return decode(data)
    except NotText as problem:
        raise ToolFailed(
            f"Could not edit file: {path}. {problem.message} "
            "Writing it back would damage it, so it was left alone; change it with bash."
        ) from problem


async def _told(path: str, work: Any) -> Any:
    try:
        return await work
    except FileFailed as problem:
        cause = cause_of(problem)
        if cause is None or cause.errno in (errno.EINVAL, errno.EFBIG):  # codes that say little
            why = problem.message
        else:
            why = f"Error code: {node_code(cause)}."
        raise ToolFailed(f"Could not edit file: {path}. {why}") from problem
