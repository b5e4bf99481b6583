"""Edits text files: decodes, replaces passages, compares and writes. The engine of ``edit``.

Front ends only locate passages: by their text, by a patch, or by line hashes. Encoding, byte order
mark, line ends and all other bytes of the file are kept.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from pi.agent.env import FileFailed
from pi.agent.tools.tool import ToolFailed
from pi.ai.messages import Json
from pi.base.records import Record, replace
from pi.coding.files.errors import find_os_error, node_code
from pi.coding.files.local import LocalFiles
from pi.coding.files.text import NotText, TextForm, decode
from pi.coding.tools.matching import elisions, refuse_elisions

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Largest file that is edited: its text is copied and compared several times."""


class Replacement(NamedTuple):
    """A passage of a text, as character positions, and what replaces it."""

    start: int
    end: int
    new_text: str


Locate: TypeAlias = Callable[[str, TextForm], Sequence[Replacement]]
"""Returns the replacements for a text. Runs in a thread; raises ``ToolFailed``."""


class EditedFile(Record):
    """The new content of a file that is not written yet."""

    path: str
    data: bytes
    text: str
    details: Json
    """``diff``, ``patch`` and ``firstChangedLine``, for views."""
    old_text: str = ""


async def compute_edit(files: LocalFiles, path: str, locate: Locate) -> EditedFile:
    """Read a file and apply the replacements of ``locate``. Nothing is written."""
    data = await _convert_errors(path, files.read_file(path, most=MAX_FILE_BYTES))
    # In a thread: thousands of edits, or a large file, take longer than the screen may wait.
    return await asyncio.to_thread(edit_bytes, data, path, locate)


async def write_edit(files: LocalFiles, edited: EditedFile, *, to: str | None = None) -> EditedFile:
    """Write the new content, by default to the same path. Returns what is on disk afterwards."""
    path = edited.path if to is None else to
    await _convert_errors(path, files.write_file(path, edited.data))
    if not files.is_layered:
        return edited
    written = await _convert_errors(path, files.read_file(path))
    if written == edited.data:
        return edited
    # A formatter, for example: the result shows what is on disk.
    text, _ = decode(written)
    details = await asyncio.to_thread(_details, edited.old_text, text, edited.path)
    return replace(edited, data=written, text=text, details=details)


def edit_bytes(data: bytes, path: str, locate: Locate) -> EditedFile:
    """The new content of a file that contains ``data``."""
    try:
        text, form = decode(data)
    except NotText as error:
        raise ToolFailed(
            f"Could not edit file: {path}. {error.message} "
            "Writing it back would damage it, so it was left alone; change it with bash."
        ) from error
    placed = locate(text, form)
    for each in placed:
        refuse_elisions(elisions(each.new_text), before=text)
    changed = apply_replacements(text, placed, path=path, line_end=form.line_end)
    details = _details(text, changed, path)
    return EditedFile(
        path=path, data=form.encode(changed), text=changed, details=details, old_text=text
    )


def _details(before: str, after: str, path: str) -> Json:
    # lazy: not needed before the first edit
    from pi.coding.tools.diff import MAX_DIFF_CHARACTERS, Diff

    diff = Diff(before.replace("\r\n", "\n"), after.replace("\r\n", "\n"))
    details: Json = {"diff": diff.display()}
    patch = diff.patch(path)
    if len(patch) <= MAX_DIFF_CHARACTERS:  # part of a patch cannot be applied
        details["patch"] = patch
    if diff.first_changed_line is not None:
        details["firstChangedLine"] = diff.first_changed_line
    return details


def apply_replacements(
    text: str, replacements: Sequence[Replacement], *, path: str, line_end: str
) -> str:
    """Return the text with every passage replaced. Raises ``ToolFailed`` if nothing changes."""
    placed = sorted(replacements)
    for one, other in pairwise(placed):
        if other.start < one.end:
            raise ToolFailed(f"Two changes of {path} overlap. Merge them into one.")
    pieces = []
    at = 0
    for each in placed:
        new = each.new_text.replace("\r\n", "\n").replace("\n", line_end)
        pieces += [text[at : each.start], new]
        at = each.end
    changed = "".join([*pieces, text[at:]])
    if changed == text:
        what = "replacements" if len(placed) > 1 else "replacement"
        raise ToolFailed(
            f"No changes made to {path}. The {what} produced identical content. This might indicate"
            " an issue with special characters or the text not existing as expected."
        )
    return changed


async def _convert_errors(path: str, work: Any) -> Any:
    try:
        return await work
    except FileFailed as error:
        cause = find_os_error(error)
        if cause is None or cause.errno in (errno.EINVAL, errno.EFBIG):  # vague codes
            why = error.message
        else:
            why = f"Error code: {node_code(cause)}."
        raise ToolFailed(f"Could not edit file: {path}. {why}") from error
