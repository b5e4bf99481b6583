"""The tools ``ast_grep`` and ``ast_edit`` in a session.

The tools list the source files of a call, let a child process parse them, and preview or write the
changes. The process is started when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import convert

from pi.batteries.ast_tools.sources import SourceFile, source_files
from pi.extension import (
    CallEffects,
    Diff,
    ExtensionAPI,
    ExtensionContext,
    Json,
    Meta,
    PendingAction,
    PiError,
    Record,
    SessionStartEvent,
    ToolContext,
    ToolFailed,
    ToolResult,
    WorkerProcess,
    can_parse_syntax,
    install_hint,
    make_tool,
)

SEARCH, EDIT = "ast_grep", "ast_edit"
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("astTools.enabled", bool, False, "search and replace by syntax trees"),
)
LIMIT = 100
"""Default of ``limit``: the matches that a search shows."""
MAX_LIMIT = 1000
MAX_MATCH_LINES = 10
"""Maximum lines shown of one match."""
MAX_DIFF_LINES = 400
"""Maximum lines of a preview in the text for the model; views show all lines."""
SECONDS = 10.0
"""Time limit of one file."""

_PATTERNS = """\
Patterns are code with variables: `$X` stands for one node, `$$$ARGS` for any number of nodes, and \
`$_` for a node that does not matter; the same variable twice must match the same code. A pattern \
must be a complete piece of syntax, such as `foo($X)`, `if ($A) { $$$ }` or `def $F($$$A): $$$B`."""
SEARCH_DESCRIPTION = f"""\
Search code by its syntax tree. Formatting, comments inside strings and line breaks do not matter.
{_PATTERNS}
Files that git ignores are left out. Use grep for plain text."""
EDIT_DESCRIPTION = f"""\
Rewrite code by its syntax tree in one or many files. The call only previews: it returns a diff, \
and nothing is changed until you call resolve with "apply".
{_PATTERNS}
`rewrite` may use the variables of its pattern; an empty one deletes the match. `ops` are applied \
in order, each to the result of the one before."""


class SearchParams(Record):
    """Arguments of ``ast_grep``."""

    pattern: Annotated[str, Meta(description="Code with variables", min_length=1)]
    path: Annotated[str, Meta(description="File or folder")] = "."
    lang: Annotated[str, Meta(description="Only this language, e.g. python or tsx")] = ""
    glob: Annotated[str, Meta(description="Only files that match, e.g. *_test.py")] = ""
    limit: Annotated[int, Meta(description="How many matches to show at most", ge=1)] = LIMIT
    offset: Annotated[int, Meta(description="How many matches to skip", ge=0)] = 0


class Rewrite(Record):
    """One operation of ``ast_edit``."""

    pattern: Annotated[str, Meta(description="Code with variables", min_length=1)]
    rewrite: Annotated[str, Meta(description="What replaces each match")]


class EditParams(Record):
    """Arguments of ``ast_edit``."""

    ops: Annotated[tuple[Rewrite, ...], Meta(description="Applied in order", min_length=1)]
    path: Annotated[str, Meta(description="File or folder")] = "."
    lang: Annotated[str, Meta(description="Only this language, e.g. python or tsx")] = ""
    glob: Annotated[str, Meta(description="Only files that match, e.g. *_test.py")] = ""


def extension(pi: ExtensionAPI) -> None:
    """Register both tools, if the library for syntax trees is installed.

    The setting activates them; otherwise they are active if selected.
    """
    pi.settings.declare_all(SETTINGS)
    pi.add_view("tool", SEARCH, "pi.batteries.ast_tools.views:search")
    pi.add_view("tool", EDIT, "pi.batteries.ast_tools.views:edit")
    is_usable = can_parse_syntax()
    if is_usable:
        _add_tools(pi)

    @pi.on("session_start")
    def activate(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        if not is_usable:
            if ctx.task.depth == 0:
                pi.warn(f"{SEARCH} and {EDIT} are not offered to the model: {_missing_parser()}")
        elif pi.settings.get("astTools.enabled"):
            pi.enable_tools((SEARCH, EDIT))


def _add_tools(pi: ExtensionAPI) -> None:
    tools = AstTools(pi)
    pi.add_tool(
        make_tool(
            name=SEARCH,
            label=SEARCH,
            description=SEARCH_DESCRIPTION,
            params=SearchParams,
            run=tools.search,
            effects=tools.effects,
            approval="read",
            replay="safe",
        ),
        exposure="on_demand",
        prompt_snippet="Search code by its syntax tree",
    )
    pi.add_tool(
        make_tool(
            name=EDIT,
            label=EDIT,
            description=EDIT_DESCRIPTION,
            params=EditParams,
            run=tools.edit,
            effects=tools.effects,
            approval="read",  # the change itself is made, and approved, by ``resolve``
            deferrable=True,
            execution_mode="sequential",  # previews are resolved in their order
        ),
        exposure="on_demand",
        prompt_snippet="Rewrite code by its syntax tree; previews first",
    )


class TreeMatch(Record):
    """One match in a text: a span of characters, and the lines it covers, counted from 1."""

    start: int
    end: int
    line: int
    last_line: int
    new: str = ""
    """The replacement; empty for a search."""


class ChangedFile(Record):
    """A file before and after a rewrite."""

    path: str
    before: str
    after: str
    replacements: int


class AstTools:
    """The tools of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._parser = TreeParser(pi)

    def effects(self, params: SearchParams | EditParams) -> CallEffects:
        """Both tools read; the change of a preview is an effect of ``resolve``."""
        files = self._pi.context.files
        return files.effects(files.effect(params.path, below=True))

    # Search ---------------------------------------------------------------------------------------

    async def search(self, params: SearchParams, ctx: ToolContext) -> ToolResult:
        """``ast_grep``."""
        require_parser()
        files = await source_files(self._pi, params.path, params.lang, params.glob)
        matches: list[Json] = []
        failures = _Failures()
        for file in files:
            with_pattern = await failures.find(self._parser, file, params.pattern)
            lines = file.text.split("\n")
            matches += [
                {
                    "path": file.path,
                    "line": match.line,
                    "lastLine": match.last_line,
                    "text": "\n".join(lines[match.line - 1 : match.last_line]),
                }
                for match in with_pattern
            ]
        failures.raise_if_nothing(matches)
        page = matches[params.offset : params.offset + min(params.limit, MAX_LIMIT)]
        details = {
            "matches": page,
            "total": len(matches),
            "files": len({match["path"] for match in matches}),
            "searched": len(files),
        }
        text = _search_text(page, matches, params.offset, len(files))
        return ToolResult.of(text, details=details, useless=not matches)

    # Edit -----------------------------------------------------------------------------------------

    async def edit(self, params: EditParams, ctx: ToolContext) -> ToolResult:
        """``ast_edit``: preview the changes, and leave them as a pending action."""
        require_parser()
        files = await source_files(self._pi, params.path, params.lang, params.glob)
        changed = await self._rewritten(files, params.ops)
        if not changed:
            text = f"No matches in {len(files)} files. Nothing is pending."
            return ToolResult.of(text, details={"files": [], "replacements": 0})
        label = _label(changed)
        self._pi.push_pending_action(
            PendingAction(
                label=label,
                apply=lambda reason: self._apply(params, changed, label),
                details={"files": [file.path for file in changed]},
                files=tuple(file.path for file in changed),
                source_tool_name=EDIT,
            )
        )
        details = _edit_details(changed)
        lines = [line for file in details["files"] for line in (file["path"], file["diff"])]
        text = _first_lines("\n".join(lines), MAX_DIFF_LINES)
        return ToolResult.of(
            f"Preview: {label}. Nothing is changed yet.\n\n{text}\n\n"
            'Call resolve with "apply" to make the changes, or "discard".',
            details={**details, "pending": True, "label": label},
        )

    async def _rewritten(
        self, files: Sequence[SourceFile], ops: Sequence[Rewrite]
    ) -> list[ChangedFile]:
        changed = []
        failures = _Failures()
        for file in files:
            text, count = file.text, 0
            for op in ops:
                now = SourceFile(path=file.path, text=text, language=file.language)
                matches = await failures.find(self._parser, now, op.pattern, op.rewrite)
                text, count = _replaced(text, matches), count + len(matches)
            if text != file.text:
                changed.append(
                    ChangedFile(path=file.path, before=file.text, after=text, replacements=count)
                )
        failures.raise_if_nothing(changed)
        return changed

    async def _apply(
        self, params: EditParams, previewed: Sequence[ChangedFile], label: str
    ) -> ToolResult:
        """Compute the change again, and write it only if it equals the preview."""
        files = await source_files(self._pi, params.path, params.lang, params.glob)
        changed = await self._rewritten(files, params.ops)
        if changed != [*previewed]:
            old = {file.path: file for file in previewed}
            new = {file.path: file for file in changed}
            paths = sorted(path for path in old | new if old.get(path) != new.get(path))
            raise ToolFailed(
                f"Nothing was changed: {', '.join(paths[:10])} changed after the preview."
                f" Call {EDIT} again for a new preview."
            )
        written: list[str] = []
        for file in changed:
            try:
                await self._pi.context.files.write_file(file.path, file.after.encode())
            except PiError as error:
                done = f" Already written: {', '.join(written)}." if written else ""
                raise ToolFailed(f"{file.path} was not written: {error.message}{done}") from error
            written.append(file.path)
        lines = [f"{file.path}: {_counted(file.replacements, 'replacement')}" for file in changed]
        text = "\n".join([f"Applied: {label}.", *lines])
        return ToolResult.of(text, details={**_edit_details(changed), "pending": False})


class _Failures:
    """Collects the failures of patterns by language, so that other languages are still searched."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, str], ToolFailed] = {}

    async def find(
        self, parser: TreeParser, file: SourceFile, pattern: str, rewrite: str | None = None
    ) -> list[TreeMatch]:
        """The matches in a file; none if the pattern failed in a file of this language."""
        key = (file.language, pattern)
        if key in self._errors:
            return []
        try:
            return await parser.find(file.text, file.language, pattern, rewrite)
        except ToolFailed as error:
            self._errors[key] = error
            return []

    def raise_if_nothing(self, matches: Sequence[object]) -> None:
        """Raise the first failure if ``found`` is empty: the failure is probably the reason."""
        if self._errors and not matches:
            raise next(iter(self._errors.values()))


class TreeParser:
    """Runs the parser in a child process, which is replaced after a crash or a timeout."""

    def __init__(self, pi: ExtensionAPI) -> None:
        function = "pi.batteries.ast_tools.parser_process:answers"
        self._worker = WorkerProcess(pi, function, kind="matcher")

    async def find(
        self, text: str, language: str, pattern: str, rewrite: str | None = None
    ) -> list[TreeMatch]:
        """The matches of a pattern.

        Raises ``ToolFailed`` if the pattern is invalid, or if parsing fails or takes too long.
        """
        request = {"text": text, "language": language, "pattern": pattern, "rewrite": rewrite}
        try:
            answers = await self._worker.ask(request, seconds=SECONDS)
        except PiError as error:
            raise ToolFailed(error.message) from error
        if not answers:
            raise ToolFailed(
                f"Parsing {language} failed or took longer than {SECONDS:g} s."
                " Use a narrower path, or grep."
            )
        (answer,) = answers
        if "error" in answer:
            raise ToolFailed(f"The pattern {pattern!r} is invalid ({language}): {answer['error']}")
        return convert(answer["matches"], list[TreeMatch])


def require_parser() -> None:
    """Raise ``ToolFailed`` if the library for syntax trees is not installed."""
    if not can_parse_syntax():
        raise ToolFailed(_missing_parser())


def _missing_parser() -> str:
    return f"Syntax trees need the package ast-grep-py. {install_hint('rules')}"


def _replaced(text: str, matches: Sequence[TreeMatch]) -> str:
    pieces, offset = [], 0
    for match in matches:
        pieces += [text[offset : match.start], match.new]
        offset = match.end
    return "".join([*pieces, text[offset:]])


def _search_text(page: Sequence[Json], matches: Sequence[Json], offset: int, searched: int) -> str:
    if not matches:
        return f"No matches in {_counted(searched, 'file')}."
    if not page:
        return f"There are only {_counted(len(matches), 'match', 'matches')}."
    lines: list[str] = []
    path = ""
    for match in page:
        if match["path"] != path:
            path = match["path"]
            lines.append(path)
        text = match["text"].split("\n")
        for number, line in enumerate(text[:MAX_MATCH_LINES], match["line"]):
            lines.append(f"{number}: {line.rstrip()}")
        if len(text) > MAX_MATCH_LINES:
            lines.append(f"… {len(text) - MAX_MATCH_LINES} more lines of this match")
    if (last := offset + len(page)) < len(matches):
        lines.append(f"\n[{len(matches) - last} more matches. Use offset={last} to continue.]")
    return "\n".join(lines)


def _edit_details(changed: Sequence[ChangedFile]) -> Json:
    files = [
        {
            "path": file.path,
            "replacements": file.replacements,
            "diff": Diff(_plain(file.before), _plain(file.after)).display(),
        }
        for file in changed
    ]
    # One text for all files, which exports draw as a diff.
    lines = [line for file in files for line in (f" {file['path']}", str(file["diff"]))]
    count = sum(file.replacements for file in changed)
    return {"files": files, "replacements": count, "diff": "\n".join(lines)}


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _label(changed: Sequence[ChangedFile]) -> str:
    count = sum(file.replacements for file in changed)
    return f"{_counted(count, 'replacement')} in {_counted(len(changed), 'file')}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _first_lines(text: str, most: int) -> str:
    lines = text.split("\n")
    if len(lines) <= most:
        return text
    return "\n".join([*lines[:most], f"… {len(lines) - most} more lines of the diff"])
