"""The edit tool: replaces passages of a file, all of them or none.

Its engine decodes, replaces, compares and writes. Front ends only locate passages: by their text,
by a patch, or by line hashes. Encoding, byte order mark, line ends and all other bytes of the file
are kept.
"""

from __future__ import annotations

import asyncio
import errno
import heapq
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from pi.agent.env import FileFailed
from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.files.errors import find_os_error, node_code
from pi.coding.files.local import LocalFiles
from pi.coding.files.text import NotText, TextForm, decode
from pi.coding.tools.declarations import PREFER_STRICT, approval_details, description
from pi.coding.tools.matching import Passages, Span, elisions, refuse_elisions

MIN_SIMILARITY = 0.6
"""Minimum similarity of a passage that is shown as the one probably meant."""
MAX_COMPARED_LINES = 50
"""Maximum candidates that are compared with a line that was not found."""
MAX_COMPARED_CHARACTERS = 500
"""Maximum characters of a line that are compared."""
MAX_SHOWN_LINES = 10
_WORD = r"\w+"


class Edit(Record):
    """One replacement."""

    old_text: Annotated[
        str,
        Meta(description="Text to replace: exactly as in the file, and found there only once"),
    ]
    new_text: Annotated[str, Meta(description="Text to put in its place")]


class _Placed(NamedTuple):
    span: Span
    edit: int
    new_text: str


def apply_edits(text: str, edits: Sequence[Edit], *, path: str, line_end: str) -> str:
    """Return ``text`` with every edit applied; each is matched against the original text.

    Only the matched passages change; all other bytes, including line ends, are kept. Raises
    ``ToolFailed`` with a message that says what to correct.
    """
    return apply_replacements(text, locate_edits(text, edits, path), path=path, line_end=line_end)


def locate_edits(text: str, edits: Sequence[Edit], path: str) -> list[Replacement]:
    """Return the passages that the edits replace, in order. Raises ``ToolFailed``."""
    if not edits:
        raise ToolFailed("Edit tool input is invalid. edits must contain at least one replacement.")
    passages = Passages(text)
    placed = sorted(
        _Placed(_locate_edit(passages, edits, index, path), index, edit.new_text)
        for index, edit in enumerate(edits)
    )
    for one, other in pairwise(placed):
        if other.span.start < one.span.end:
            first, second = sorted((one.edit, other.edit))
            raise ToolFailed(
                f"edits[{first}] and edits[{second}] overlap in {path}. "
                "Merge them into one edit or target disjoint regions."
            )
    return [
        Replacement(located.span.start, located.span.end, located.new_text) for located in placed
    ]


def _locate_edit(passages: Passages, edits: Sequence[Edit], index: int, path: str) -> Span:
    old = edits[index].old_text
    several = len(edits) > 1
    if not old:
        if not passages.text and not several:
            return Span(0, 0)  # an empty file contains no text to match
        name = f"edits[{index}].oldText" if several else "oldText"
        raise ToolFailed(f"{name} must not be empty in {path}.")
    spans = passages.find(old)
    if not spans:
        what = (
            f"Could not find edits[{index}] in" if several else "Could not find the exact text in"
        )
        name = "oldText" if several else "old text"
        raise ToolFailed(
            f"{what} {path}. The {name} must match exactly including all whitespace and newlines."
            + _describe_nearest(passages.text, old)
        )
    if len(spans) > 1:
        what = f"edits[{index}]" if several else "the text"
        requirement = "Each oldText must be unique" if several else "The text must be unique"
        raise ToolFailed(
            f"Found {len(spans)} occurrences of {what} in {path}. {requirement}. "
            "Please provide more context to make it unique."
        )
    return spans[0]


def _describe_nearest(text: str, old: str) -> str:
    """Return a note with the passage most similar to ``old``; empty if none is similar."""
    lines, old_lines = text.split("\n"), old.strip("\r\n").split("\n")
    before, key = max(enumerate(old_lines), key=lambda line: len(line[1]))
    key_words = set(re.findall(_WORD, key))
    # Comparing is slow, counting common words is fast: only the best by words are compared.
    candidates = heapq.nlargest(
        MAX_COMPARED_LINES,
        range(len(lines)),
        key=lambda n: len(key_words & set(re.findall(_WORD, lines[n]))),
    )
    import difflib  # lazy: takes 5 ms, and most edits succeed

    matcher = difflib.SequenceMatcher(b=key.strip()[:MAX_COMPARED_CHARACTERS], autojunk=False)
    best, best_line = 0.0, 0
    for number in candidates if key_words else ():
        matcher.set_seq1(lines[number].strip()[:MAX_COMPARED_CHARACTERS])
        if matcher.real_quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, best_line = ratio, number
    if best < MIN_SIMILARITY:
        return ""
    first = max(best_line - before, 0)
    similar_text = "\n".join(lines[first : first + min(len(old_lines), MAX_SHOWN_LINES)])
    return f"\n\nThe most similar text is at line {first + 1}:\n{similar_text}"


BYTE_ORDER_MARK = "\ufeff"


class EditParams(Record):
    """Arguments of a call."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    edits: Annotated[
        tuple[Edit, ...],
        Meta(
            description="Replacements, each matched against the file as it is now. They must not "
            "overlap; join changes to the same or adjacent lines into one"
        ),
    ]


def edit_tool(files: LocalFiles) -> AgentTool:
    """Build the tool. A failed edit leaves the file unchanged."""

    async def edit(params: EditParams, ctx: ToolContext) -> ToolResult:
        edited = await compute_edit(files, params.path, partial(_locate, params))
        edited = await write_edit(files, edited)
        count = len(params.edits)
        done = f"Successfully replaced {count} block(s) in {params.path}."
        return ToolResult.of(done + files.link_note(params.path), details=edited.details)

    return make_tool(
        name="edit",
        label="edit",
        description=description("edit"),
        params=EditParams,
        run=edit,
        prepare_arguments=prepare_edit,
        touches=lambda params: (files.real(params.path),),
        effects=lambda params: files.effects(files.effect(params.path, writes=True)),
        preview=preview_edit,
        constrained_sampling=PREFER_STRICT,
        approval="write",
        format_approval_details=approval_details,
    )


def prepare_edit(arguments: Json) -> Json:
    """Convert arguments that models trained on other edit tools send to the form of the schema.

    A single replacement may be given beside the path, and the list may be a JSON string.
    """
    prepared = dict(arguments)
    if isinstance(prepared.get("edits"), str):
        try:
            prepared["edits"] = msgspec.json.decode(prepared["edits"])
        except UNREADABLE:
            return arguments
    if "edits" not in prepared and "oldText" in prepared and "newText" in prepared:
        prepared["edits"] = [{name: prepared.pop(name) for name in ("oldText", "newText")}]
    return prepared


def preview_edit(arguments: Json) -> FilePreview | None:
    """Return the new and the old texts received so far, one below the other."""
    match arguments:
        case {"path": str(path), "edits": [*entries]}:
            edits = [entry for entry in entries if isinstance(entry, dict)]
            return FilePreview(
                path=path,
                added=_join_texts(edits, "newText"),
                removed=_join_texts(edits, "oldText"),
            )
        case _:
            return None


def _join_texts(edits: list[Json], name: str) -> str:
    texts = (edit.get(name) for edit in edits)
    return "\n".join(text for text in texts if isinstance(text, str))


def _locate(params: EditParams, text: str, form: TextForm) -> list[Replacement]:
    edits = params.edits
    if form.mark:  # ``read`` shows the mark in the first line; the file keeps it in any case
        edits = tuple(
            Edit(
                old_text=edit.old_text.lstrip(BYTE_ORDER_MARK),
                new_text=edit.new_text.lstrip(BYTE_ORDER_MARK),
            )
            for edit in edits
        )
    return locate_edits(text, edits, params.path)


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
    """Read a file and apply the replacements of ``locate``, without writing.

    Raises ``ToolFailed``.
    """
    data = await _convert_errors(path, files.read_file(path, most=MAX_FILE_BYTES))
    # In a thread: thousands of edits, or a large file, take longer than the screen may wait.
    return await asyncio.to_thread(edit_bytes, data, path, locate)


async def write_edit(files: LocalFiles, edited: EditedFile, *, to: str | None = None) -> EditedFile:
    """Write the new content, by default to the same path; returns the content then on disk."""
    path = edited.path if to is None else to
    await _convert_errors(path, files.write_file(path, edited.data))
    if not files.is_layered:
        return edited
    written = await _convert_errors(path, files.read_file(path))
    if written == edited.data:
        return edited
    # A layer, such as a formatter, has changed it: the result shows the content on disk.
    text, _ = decode(written)
    details = await asyncio.to_thread(_edit_details, edited.old_text, text, edited.path)
    return replace(edited, data=written, text=text, details=details)


def edit_bytes(data: bytes, path: str, locate: Locate) -> EditedFile:
    """Return the new content of a file that contains ``data``; raises ``ToolFailed``."""
    try:
        text, form = decode(data)
    except NotText as error:
        raise ToolFailed(
            f"Could not edit file: {path}. {error.message} "
            "Writing it back would damage it, so it was left alone; change it with bash."
        ) from error
    placed = locate(text, form)
    for replacement in placed:
        refuse_elisions(elisions(replacement.new_text), before=text)
    changed = apply_replacements(text, placed, path=path, line_end=form.line_end)
    details = _edit_details(text, changed, path)
    return EditedFile(
        path=path, data=form.encode(changed), text=changed, details=details, old_text=text
    )


def _edit_details(before: str, after: str, path: str) -> Json:
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
    position = 0
    for replacement in placed:
        new = replacement.new_text.replace("\r\n", "\n").replace("\n", line_end)
        pieces += [text[position : replacement.start], new]
        position = replacement.end
    changed = "".join([*pieces, text[position:]])
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
