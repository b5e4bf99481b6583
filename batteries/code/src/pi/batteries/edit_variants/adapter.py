"""The ``edit`` tool in the configured variant; ``hashline`` also wraps ``read`` and ``write``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pi.batteries.edit_variants.hunks import FilePatch, locate_hunks
from pi.batteries.edit_variants.lines import (
    HashEdit,
    anchored,
    header,
    locate_hashes,
    without_anchors,
)
from pi.batteries.edit_variants.patches import parse_codex, parse_unified, paths_of
from pi.coding.files.text import TextForm
from pi.coding.tools.edit import EditedFile, compute_edit, write_edit
from pi.extension import (
    AgentTool,
    CallEffects,
    ExtensionAPI,
    ExtensionContext,
    FilePreview,
    Json,
    Meta,
    PiError,
    Record,
    SessionStartEvent,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

Variant: TypeAlias = Literal["replace", "patch", "apply_patch", "hashline"]

DESCRIPTIONS: Final[dict[str, str]] = {
    "patch": """\
Change files with a unified diff, as `diff -u` and `git diff` write it:
--- a/path
+++ b/path
@@ -12,3 +12,3 @@
 a line that stays
-a line that is removed
+a line that is added
Lines of a hunk begin with a space, - or +. Keep about three lines around each change; they must \
be those of the file. The numbers may be off, but hunks must be in order. /dev/null as the old or \
new file creates or deletes one. If one hunk does not fit, nothing is changed.""",
    "apply_patch": """\
Change files with a patch in this format:
*** Begin Patch
*** Update File: path
@@ class or function that contains the change (optional)
 a line that stays
-a line that is removed
+a line that is added
*** Add File: path
+each line of the new file
*** Delete File: path
*** End Patch
Keep about three lines around each change; they must be those of the file. Without line numbers, \
the lines must be unique: add more of them, or @@ lines. `*** Move to: path` below an update \
renames the file, and `*** End of File` below a change ties it to the end. If one change does not \
fit, nothing is changed.""",
    "hashline": """\
Change lines of a file by their anchors. `read` shows each line as `12:a3f|text`; `12:a3f` is its \
anchor: the number and a hash of the content. Each edit replaces the lines from `start` to `end`, \
or inserts before `start` or after `end`. All anchors are those of the file as you read it; do not \
count for earlier edits of the same call. Write plain lines in `text`, without anchors. If a line \
has changed, nothing is edited and the result shows the fresh lines.""",
}

SNIPPETS: Final[dict[str, str]] = {
    "patch": "Change files with a unified diff",
    "apply_patch": "Change, add, move and delete files with a patch",
    "hashline": "Change lines of a file by their anchors",
}
"""One line for the list of tools in the system prompt."""
_ONE_CALL = "Put all changes to one file into one edit call."
GUIDELINES: Final[dict[str, tuple[str, ...]]] = {
    "patch": ("Change existing files with edit; the context lines must be in the file.", _ONE_CALL),
    "apply_patch": (
        "Change existing files with edit; the context lines must be in the file.",
        _ONE_CALL,
    ),
    "hashline": (
        "Change existing files with edit; copy anchors such as 12:a3f from read, and read again"
        " when they are stale.",
        _ONE_CALL,
    ),
}
"""Lines for the guidelines of the system prompt."""


NAME = "edit"
VARIABLE = "PI_EDIT_VARIANT"
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("edit.variant", str, "replace", "form of the edit tool"),
)
MAX_FILE = 64 * 1024 * 1024
_NOTICE = re.compile(r"\n\n\[(?:Showing lines |More than )?\d[^\n]*\]\Z")
"""The notice that ``read`` adds below the lines of a file."""
STRIPPED = "Note: anchors copied from read were removed from the content."


class PatchParams(Record):
    """Arguments of the variant ``patch``."""

    patch: Annotated[str, Meta(description="Unified diff of one or more files")]
    path: Annotated[str, Meta(description="The file, if the patch has no --- and +++ lines")] = ""


class ApplyPatchParams(Record):
    """Arguments of the variant ``apply_patch``."""

    input: Annotated[str, Meta(description="The whole patch, with its first and last line")]


class HashlineParams(Record):
    """Arguments of the variant ``hashline``."""

    path: Annotated[str, Meta(description="File, relative to the working folder or absolute")]
    edits: Annotated[tuple[HashEdit, ...], Meta(description="Changes; they must not overlap")]
    tag: Annotated[
        str,
        Meta(
            description="Tag of the file as [path#TAG] shows it; then anchors may be plain numbers"
        ),
    ] = ""


def extension(pi: ExtensionAPI) -> None:
    """Replace the tool when the session starts; ``replace`` keeps the tool of pi."""
    pi.settings.declare_all(SETTINGS)
    variants = EditVariants(pi)
    pi.on("session_start", variants.session_start)


class EditVariants:
    """The variant of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Register the tool of the variant."""
        chosen: Any = ctx.environ.get(VARIABLE) or self._pi.settings.get("edit.variant")
        if chosen not in get_args(Variant):
            variants = ", ".join(get_args(Variant))
            ctx.ui.notify(f"Unknown edit variant {chosen!r}. Use one of {variants}.", "warning")
        elif chosen != "replace":
            # Not activated here: the user may have deselected ``edit``.
            self._pi.add_tool(
                self._tool(chosen),
                exposure="on_demand",
                prompt_snippet=SNIPPETS[chosen],
                prompt_guidelines=GUIDELINES[chosen],
            )
            self._pi.add_view("tool", NAME, "pi.batteries.edit_variants.views:edit")
        if chosen == "hashline":
            self._pi.wrap_tool("read", self._read)
            self._pi.wrap_tool("write", self._write)

    def _tool(self, variant: Variant) -> AgentTool:
        front_ends: dict[str, tuple[type, Callable[[Any, ToolContext], Any]]] = {
            "patch": (PatchParams, self._patch),
            "apply_patch": (ApplyPatchParams, self._apply_patch),
            "hashline": (HashlineParams, self._hashline),
        }
        params, run = front_ends[variant]
        return make_tool(
            name=NAME,
            label=NAME,
            description=DESCRIPTIONS[variant],
            params=params,
            run=run,
            touches=lambda params: tuple(file.real for file in self._effects(params).files),
            effects=self._effects,
            preview=preview,
            strict=True,
            approval="write",
            format_approval_details=lambda arguments: ", ".join(paths_of(arguments)),
        )

    def _effects(self, params: Any) -> CallEffects:
        """The files of a call; none for a patch that cannot be parsed: it changes nothing."""
        files = self._pi.context.files
        if isinstance(params, HashlineParams):
            return files.effects(files.effect(params.path, writes=True))
        try:
            patches = _parsed(params)
        except ToolFailed:
            return files.effects()
        names = dict.fromkeys(name for patch in patches for name in (patch.path, patch.move_to))
        return files.effects(*(files.effect(name, writes=True) for name in names if name))

    # The tools of the three variants --------------------------------------------------------------

    async def _patch(self, params: PatchParams, ctx: ToolContext) -> ToolResult:
        return await self._change(_parsed(params))

    async def _apply_patch(self, params: ApplyPatchParams, ctx: ToolContext) -> ToolResult:
        return await self._change(_parsed(params))

    async def _hashline(self, params: HashlineParams, ctx: ToolContext) -> ToolResult:
        files = self._pi.context.files

        def locate(text: str, form: TextForm) -> Any:
            return locate_hashes(text, params.edits, params.path, params.tag)

        edited = await compute_edit(files, params.path, locate)
        await write_edit(files, edited)
        lines = edited.text.split("\n")
        first = max(int(edited.details.get("firstChangedLine", 1)) - 3, 0)
        added = sum(edit.text.count("\n") + 1 for edit in params.edits)
        fresh = anchored(
            (x.rstrip("\r") for x in lines[first : first + min(added + 5, 40)]), first + 1
        )
        done = f"Successfully changed {len(params.edits)} place(s) in {params.path}."
        text = "\n".join([header(params.path, edited.text), done, "The lines are now:", *fresh])
        return ToolResult.of(text, details=edited.details)

    async def _change(self, patches: Sequence[FilePatch]) -> ToolResult:
        """Apply the changes of all files; nothing is written if one of them does not apply."""
        planned = [await self._planned(patch) for patch in patches]
        names = [name for patch in patches for name in (patch.path, patch.move_to) if name]
        if len({self._pi.context.files.real(name) for name in names}) < len(names):
            raise ToolFailed("The patch has two sections for one file. Merge them into one.")
        files = self._pi.context.files
        written: list[str] = []
        for patch, edited in zip(patches, planned, strict=True):
            target = patch.move_to or patch.path
            try:
                if edited is not None:
                    await write_edit(files, edited, to=target)
                if patch.kind == "delete" or patch.move_to:
                    await files.remove(patch.path)
            except PiError as error:
                done = f" Already changed: {', '.join(written)}." if written else ""
                raise ToolFailed(f"{error.message}{done}") from error
            written.append(target)
        return _result(patches, planned)

    async def _planned(self, patch: FilePatch) -> EditedFile | None:
        """The new content of a file; ``None`` if it is deleted. Raises ``ToolFailed``."""
        files = self._pi.context.files
        target = patch.move_to or (patch.path if patch.kind == "add" else "")
        if target and await files.exists(target):
            raise ToolFailed(f"{target} exists already. Update it instead; nothing was changed.")
        if patch.kind == "add":
            details = {"diff": "\n".join(f"+{line}" for line in patch.content.splitlines())}
            data = patch.content.encode()
            return EditedFile(path=patch.path, data=data, text=patch.content, details=details)
        if patch.kind == "delete":
            if not await files.exists(patch.path):
                raise ToolFailed(f"There is no file {patch.path} to delete. Nothing was changed.")
            return None
        if not patch.hunks:  # only moved
            data = await files.read_file(patch.path, most=MAX_FILE)
            return EditedFile(path=patch.path, data=data, text="", details={"diff": ""})
        locate = partial(_locate, patch)
        return await compute_edit(files, patch.path, locate)

    # Anchors of ``hashline`` ----------------------------------------------------------------------

    async def _read(self, params: Any, ctx: ToolContext, inner: Any) -> ToolResult:
        """Show the lines of text files with their anchors."""
        result: ToolResult = await inner(params)
        path = self._file(params.path)
        if path is None or result.is_error or not _shows_lines(result):
            return result
        part, *notes = result.content  # other extensions add notes, e.g. about merge conflicts
        assert isinstance(part, Text)
        if part.text.startswith("[Line ") and "exceeds" in part.text:
            return result  # one line that is too long to be shown
        # The file itself may end like a notice; ``read`` adds one only if it leaves lines out.
        is_cut = bool(params.limit) or isinstance(result.details, dict)
        notice = _NOTICE.search(part.text) if is_cut else None
        body = part.text[: notice.start()] if notice else part.text
        first = max(int(params.offset), 1) if params.offset else 1
        lines = "\n".join(anchored(body.removesuffix("\n").split("\n"), first))
        title = await self._header(params.path)
        text = f"{title}\n{lines}{notice[0] if notice else ''}"
        return replace(result, content=(Text(text=text), *notes))

    async def _write(self, params: Any, ctx: ToolContext, inner: Any) -> ToolResult:
        """Remove copied anchors from the content, and add the tag of the file to the result."""
        plain = without_anchors(params.content)
        stripped = plain != params.content
        result: ToolResult = await inner(replace(params, content=plain) if stripped else params)
        if result.is_error or not result.content or not isinstance(result.content[0], Text):
            return result
        text = result.content[0].text
        if self._file(params.path) is not None:
            text = f"{await self._header(params.path)}\n{text}"
        elif files := _resolved_files(result.details):
            headers = [await self._header(file) for file in files]
            text = "\n".join(
                [headers[0], text] if len(files) == 1 else [text, "Snapshots:", *headers]
            )
        if stripped:
            text = f"{text}\n{STRIPPED}"
        return replace(result, content=(Text(text=text), *result.content[1:]))

    async def _header(self, path: str) -> str:
        files = self._pi.context.files
        file, cwd = files.resolve(path), Path(self._pi.context.cwd)
        relative = str(file.relative_to(cwd)) if file.is_relative_to(cwd) else str(file)
        data = await files.read_file(path, most=MAX_FILE)
        return header(relative, data.decode("utf-8-sig", "replace"))

    def _file(self, path: str) -> Path | None:
        """The plain file of a path; ``None`` for resources and paths into archives."""
        file = None if "://" in path else self._pi.context.files.resolve(path)
        return file if file is not None and file.is_file() else None


def _shows_lines(result: ToolResult) -> bool:
    """Whether a result shows lines of the file, not a picture, a document or a list of members."""
    if not result.content or not all(isinstance(part, Text) for part in result.content):
        return False
    details = result.details if isinstance(result.details, dict) else {}
    return details.keys() <= {"truncation"}


def _locate(patch: FilePatch, text: str, form: TextForm) -> Any:
    return locate_hunks(text, patch.hunks, patch.path)


def _parsed(params: PatchParams | ApplyPatchParams) -> list[FilePatch]:
    if isinstance(params, PatchParams):
        return parse_unified(params.patch, params.path)
    return parse_codex(params.input)


def _resolved_files(details: Any) -> list[str]:
    """The files that a write to a resource has changed, from the details of its result."""
    files = details.get("resolvedFiles") if isinstance(details, dict) else None
    return [*map(str, files)] if isinstance(files, list) else []


_LETTERS = {"update": "M", "add": "A", "delete": "D"}


def _result(patches: Sequence[FilePatch], planned: Sequence[EditedFile | None]) -> ToolResult:
    names = [
        f"{_LETTERS[patch.kind]} {patch.path}" + (f" → {patch.move_to}" if patch.move_to else "")
        for patch in patches
    ]
    changes = [
        (patch, {} if edited is None else edited.details)
        for patch, edited in zip(patches, planned, strict=True)
    ]
    details: Json = {
        "files": [
            {"path": patch.move_to or patch.path, "kind": patch.kind, "diff": edit.get("diff", "")}
            for patch, edit in changes
        ],
        "diff": "\n".join(str(edit["diff"]) for _, edit in changes if edit.get("diff")),
        "patch": "".join(str(edit.get("patch", "")) for _, edit in changes),
    }
    if len(changes) == 1 and "firstChangedLine" in changes[0][1]:
        details["firstChangedLine"] = changes[0][1]["firstChangedLine"]
    return ToolResult.of(
        "\n".join(["Success. Updated the following files:", *names]), details=details
    )


def preview(arguments: Json) -> FilePreview | None:
    """The lines that a call adds and removes, also from incomplete arguments.

    ``None`` if the arguments name no file.
    """
    names = paths_of(arguments)
    if not names:
        return None
    match arguments:
        case {"patch": str(text)} | {"input": str(text)}:
            lines = [x for x in text.split("\n") if not x.startswith(("+++ ", "--- ", "***"))]
            added = [line[1:] for line in lines if line.startswith("+")]
            removed = [line[1:] for line in lines if line.startswith("-")]
            return FilePreview(path=names[-1], added="\n".join(added), removed="\n".join(removed))
        case {"edits": [*edits]}:
            texts = [edit.get("text") for edit in edits if isinstance(edit, dict)]
            return FilePreview(
                path=names[-1], added="\n".join(text for text in texts if isinstance(text, str))
            )
        case _:
            return None
