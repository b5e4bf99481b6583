"""Memory in a session: notes, tools, the index in the prompt, ``/remember`` and ``/memory``.

Notes are Markdown files in one folder for the user and one for each project.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pi.extension import (
    CheckResult,
    CommandContext,
    CompactingAnswer,
    ExtensionAPI,
    ExtensionContext,
    Meta,
    Option,
    PiError,
    Record,
    SessionCompactingEvent,
    SessionStartEvent,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    one_line,
    read_regular,
    replace_file,
)

Scope: TypeAlias = Literal["project", "user"]

MAX_NOTES = 500
"""Maximum notes of one folder."""
MAX_TEXT = 8_000
"""Maximum characters of a note."""
MAX_FILE = 256 * 1024
"""Maximum bytes of a file; larger files are not notes."""
MAX_TITLE = 80
MOST_WORDS = 32
"""Maximum words of a search."""
TITLE_WEIGHT = 5.0
_WORDS = re.compile(r"\w+")
_HEADING = re.compile(r"^#+\s*(.+)$", re.MULTILINE)


def note_folders(base: Path, project: Path) -> dict[Scope, Path]:
    """Create the folders of a project and of the user below ``base``, and return them.

    The path identifies a project. Nothing is written into the project itself: it may be shared,
    and need not be trusted.
    """
    key = sha256(str(project).encode("utf-8", "replace")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name)[:40] or "root"
    folders: dict[Scope, Path] = {
        "project": base / "projects" / f"{readable}-{key}",
        "user": base / "user",
    }
    for folder in folders.values():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folders


class Note(Record):
    """One note."""

    scope: Scope
    path: Path
    title: str
    text: str
    """The text below the title."""
    stamp: tuple[int, int] = (0, 0)
    """Time and size of the file."""

    @property
    def name(self) -> str:
        """The name for commands."""
        return self.path.stem


class Notes:
    """The notes of a project and of the user."""

    def __init__(self, folders: Mapping[Scope, Path]) -> None:
        self.folders = folders
        self._known: dict[Path, Note] = {}

    def all(self) -> list[Note]:
        """Return every note, those of the project first, the newest first.

        The user may edit the files at any time, so changed files are read again.
        """
        all_notes: list[Note] = []
        for scope, folder in self.folders.items():
            notes = (self._note(scope, path, stamp) for path, stamp in _files(folder))
            all_notes += sorted(
                (note for note in notes if note is not None), key=lambda note: -note.stamp[0]
            )
        return all_notes

    def find(self, name: str) -> Note:
        """Return the note with this name or title; raises ``PiError`` if there is none."""
        key = name.strip().casefold()
        for note in self.all():
            if key in (note.name.casefold(), note.title.casefold()):
                return note
        raise PiError(f'There is no note "{one_line(name)}".', hint="/memory lists all notes.")

    def write(self, scope: Scope, text: str, title: str = "", *, replace: bool = False) -> Note:
        """Write a note; an existing one with the same title is replaced only with ``replace``.

        Raises ``PiError``.
        """
        text = text.strip()
        if not text:
            raise PiError("A note needs a text.")
        if len(text) > MAX_TEXT:
            raise PiError(
                f"The note has {len(text):,} characters; {MAX_TEXT:,} are allowed.",
                hint="Write the facts only, or several notes.",
            )
        title = _title(title or text)
        same = [note for note in self.all() if note.scope == scope and note.title == title]
        if same and not replace:
            raise PiError(
                f'There is a note "{title}" already: {same[0].path}',
                hint="Use another title, or replace it.",
            )
        folder = self.folders[scope]
        if not same and sum(1 for _ in _files(folder)) >= MAX_NOTES:
            raise PiError(f"{folder} holds {MAX_NOTES} notes.", hint="/memory forgets some.")
        path = same[0].path if same else _free_path(folder, title)
        replace_file(path, f"# {title}\n\n{text}\n".encode())
        return Note(scope=scope, path=path, title=title, text=text)

    def edit(self, note: Note, content: str) -> None:
        """Replace the whole file of a note."""
        replace_file(note.path, (content.strip() + "\n").encode())

    def forget(self, note: Note) -> None:
        """Delete a note."""
        note.path.unlink(missing_ok=True)
        self._known.pop(note.path, None)

    def _note(self, scope: Scope, path: Path, stamp: tuple[int, int]) -> Note | None:
        cached = self._known.get(path)
        if cached is not None and cached.stamp == stamp:
            return cached
        try:
            content = read_regular(path, max_bytes=MAX_FILE).decode("utf-8", "replace")
        except (OSError, PiError):
            return None
        heading = _HEADING.search(content)
        title = _title(heading[1] if heading else content)
        text = content.replace(heading[0], "", 1) if heading else content
        note = Note(scope=scope, path=path, title=title, text=text.strip(), stamp=stamp)
        self._known[path] = note
        return note


def content_of(note: Note) -> str:
    """Return the content of a note's file."""
    return f"# {note.title}\n\n{note.text}\n"


def _files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        paths = sorted(folder.glob("*.md"))
    except OSError:
        return
    for path in paths[: 2 * MAX_NOTES]:
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, (status.st_mtime_ns, status.st_size)


def _title(text: str) -> str:
    line = one_line(
        next((line_text for line_text in text.splitlines() if line_text.strip()), "note")
    )
    line = line.strip("# \t*_`").strip() or "note"
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…"


def _free_path(folder: Path, title: str) -> Path:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:48] or "note"
    number = 1
    while (path := folder / (f"{slug}.md" if number == 1 else f"{slug}-{number}.md")).exists():
        number += 1
    return path


def search(notes: Sequence[Note], query: str, most: int) -> list[Note]:
    """Return the notes that contain words of ``query``, the best first.

    Word forms and prefixes of words match; accents and case are ignored. The index is built in
    memory for each search, so that an edited or deleted note leaves no copy.
    """
    import sqlite3  # deferred: most sessions search nothing

    terms = _WORDS.findall(query)[:MOST_WORDS]
    if not terms or not notes:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(
            "CREATE VIRTUAL TABLE note USING fts5(title, text,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        index.executemany(
            "INSERT INTO note(rowid, title, text) VALUES (?, ?, ?)",
            ((index, note.title, note.text) for index, note in enumerate(notes)),
        )
        # Quoted, so that NOT is not an operator; the star matches longer words.
        match = " OR ".join(f'"{word}"*' for word in terms)
        rows = index.execute(
            "SELECT rowid FROM note WHERE note MATCH ? ORDER BY bm25(note, ?, 1.0) LIMIT ?",
            (match, TITLE_WEIGHT, most),
        )
        return [notes[row] for (row,) in rows]


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("memories.enabled", bool, False, "give models the tools remember and recall"),
)
REMEMBER = """\
Write a note that later sessions can recall: a decision, a convention, a fact that was hard to \
find, a wish of the user that holds for ever. Only what stays true and cannot be read from the \
project. Never secrets, never what the user did not want to be kept. The user sees every note."""
RECALL = """\
Search the notes of earlier sessions by words. Use it when a task may have been discussed before: \
conventions, decisions, commands, preferences. Notes may be out of date: check what you rely on."""
TOOLS = ("remember", "recall")
MAX_LISTED = 40
"""Maximum titles in the prompt."""
MAX_RECALLED = 10


class RememberParams(Record):
    """Arguments of ``remember``."""

    note: Annotated[str, Meta(min_length=1, description="The note, in Markdown")]
    title: Annotated[str, Meta(description="A short title; the first line by default")] = ""
    scope: Annotated[
        Literal["project", "user"],
        Meta(description="For this project, or for the user in all projects"),
    ] = "project"
    replace: Annotated[bool, Meta(description="Replace the note with this title")] = False


class RecallParams(Record):
    """Arguments of ``recall``."""

    query: Annotated[str, Meta(min_length=1, description="Words to search for")]
    limit: Annotated[
        int, Meta(ge=1, le=MAX_RECALLED, description="How many notes to return at most")
    ] = 5


def extension(pi: ExtensionAPI) -> None:
    """Register tools, commands and the index."""
    pi.settings.declare_all(SETTINGS)
    memory = SessionMemory(pi)
    memory.add_tools()
    pi.register_command(
        "remember",
        memory.remember_command,
        description="write a note for later sessions: /remember [--user] <text>",
    )
    pi.register_command("memory", memory.screen, description="show, edit or forget notes")
    pi.on("session_start", memory.start)
    pi.on("session_compacting", memory.compacting)
    pi.add_doctor_check("memory", memory.check)


class SessionMemory:
    """The notes that one session uses."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._notes: Notes | None = None
        self._index: str | None = None
        """Built once: a section that changes would invalidate the provider's prompt cache."""

    @property
    def notes(self) -> Notes:
        """The notes of the current project and of the user."""
        if self._notes is None:
            self._notes = Notes(note_folders(self._pi.data_directory(), self._pi.context.cwd))
        return self._notes

    # Tools ----------------------------------------------------------------------------------------

    def add_tools(self) -> None:
        """Add the tools. They are active if memory is on, or if they are selected by name."""
        self._pi.add_tool(
            make_tool(
                name="remember",
                label="remember",
                description=REMEMBER,
                params=RememberParams,
                run=self._remember,
                execution_mode="sequential",
            ),
            exposure="on_demand",
        )
        self._pi.add_tool(
            make_tool(
                name="recall",
                label="recall",
                description=RECALL,
                params=RecallParams,
                run=self._recall,
            ),
            exposure="on_demand",
        )

    def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Activate the tools and the index, if memory is on."""
        if self._pi.settings.get("memories.enabled") is True:
            self._pi.enable_tools(TOOLS)
            self._pi.add_section("memory", self.index)

    async def _remember(self, params: RememberParams, ctx: ToolContext) -> ToolResult:
        try:
            note = await self._write(
                params.scope, params.note, params.title, replace=params.replace
            )
        except PiError as error:
            raise ToolFailed(error.explain()) from error
        self._pi.context.ui.notify(f"Remembered: {note.title} (/memory)")
        details = {"title": note.title, "scope": note.scope, "path": str(note.path)}
        return ToolResult.of(f"Remembered for this {note.scope}: {note.title}", details=details)

    async def _recall(self, params: RecallParams, ctx: ToolContext) -> ToolResult:
        notes = await asyncio.to_thread(self._search, params.query, params.limit)
        if not notes:
            return ToolResult.of("No note matches.", useless=True)
        texts = (f"## {note.title} ({note.scope})\n\n{note.text}" for note in notes)
        titles = [note.title for note in notes]
        return ToolResult.of("\n\n".join(texts), details={"titles": titles})

    def _search(self, query: str, most: int) -> list[Note]:
        return search(self.notes.all(), query, most)

    async def _write(self, scope: Scope, text: str, title: str, *, replace: bool = False) -> Note:
        """Write a note, with secrets redacted."""
        clean, name = self._pi.redact(text, "export"), self._pi.redact(title, "export")
        return await asyncio.to_thread(self.notes.write, scope, clean, name, replace=replace)

    # The prompt -----------------------------------------------------------------------------------

    def index(self) -> str:
        """Return the section of the prompt: the titles of the notes."""
        if self._index is None:
            self._index = index_text(self.notes.all())
        return self._index

    def compacting(
        self, event: SessionCompactingEvent, ctx: ExtensionContext
    ) -> CompactingAnswer | None:
        """Add the titles of the notes to the summary request: these facts are already stored."""
        if self._pi.settings.get("memories.enabled") is not True:
            return None
        titles = [note.title for note in self.notes.all()[:MAX_LISTED]]
        if not titles:
            return None
        lines = "\n".join(f"- {title}" for title in titles)
        return CompactingAnswer(context=(f"Noted in the memory of the agent:\n{lines}",))

    # Commands -------------------------------------------------------------------------------------

    async def remember_command(self, arguments: str, ctx: CommandContext) -> None:
        """Write a note of the user."""
        scope: Scope = "project"
        text = arguments.strip()
        if text == "--user" or text.startswith("--user "):
            scope, text = "user", text.removeprefix("--user").strip()
        if not text and ctx.has_ui:
            text = await ctx.ui.editor("What is to be remembered?", "") or ""
        if not text:
            ctx.ui.notify("Usage: /remember [--user] <text>", "warning")
            return
        note = await self._write(scope, text, "")
        ctx.ui.notify(f"Remembered for this {scope}: {note.title}")

    async def screen(self, arguments: str, ctx: CommandContext) -> None:
        """List the notes; each can be shown, edited and forgotten."""
        if arguments:
            raise PiError("/memory takes no arguments.", hint="/remember TEXT writes a note.")
        if not ctx.has_ui:
            ctx.write(f"{overview(self.notes)}\n")
            return
        while True:
            notes = await asyncio.to_thread(self.notes.all)
            if not notes:
                ctx.ui.notify("There are no notes yet. /remember writes one.")
                return
            labels = {f"{note.scope}: {note.title}": note for note in reversed(notes)}
            options = [
                Option(label=label, description=_begin(note)) for label, note in labels.items()
            ]
            chosen = await ctx.ui.select("Notes", options[::-1])
            if chosen is None:
                return
            await self._act(labels[str(chosen)], ctx)

    async def _act(self, note: Note, ctx: CommandContext) -> None:
        choice = await ctx.ui.select(note.title, ["Edit", "Forget", "Show the file", "Back"])
        if choice == "Edit":
            text = await ctx.ui.editor(str(note.path), content_of(note), style="hook")
            if text is not None and text.strip() and text.strip() != content_of(note).strip():
                clean = self._pi.redact(text, "export")
                await asyncio.to_thread(self.notes.edit, note, clean)
        elif choice == "Forget":
            question = f"Delete {note.path}? It cannot be undone."
            if await ctx.ui.confirm("Forget this note?", question, default=False):
                await asyncio.to_thread(self.notes.forget, note)
                ctx.ui.notify(f"Forgotten: {note.title}")
        elif choice == "Show the file":
            ctx.write(f"{note.path}\n\n{content_of(note)}")

    def check(self, ctx: ExtensionContext) -> Iterator[CheckResult]:
        """Report how many notes there are, and where."""
        for scope, folder in self.notes.folders.items():
            count = sum(note.scope == scope for note in self.notes.all())
            level: Literal["note", "missing"] = "missing" if count >= MAX_NOTES else "note"
            text = f"{count} note{'' if count == 1 else 's'} of the {scope} in {folder}"
            yield CheckResult(level=level, topic="memory", text=text)


def index_text(notes: Sequence[Note]) -> str:
    """Return the index for the prompt; empty without notes."""
    if not notes:
        return ""
    lines = [f"- {note.title} ({note.scope})" for note in notes[:MAX_LISTED]]
    if more := len(notes) - len(lines):
        lines.append(f"- and {more} more")
    return "\n".join(
        ("# Memory", "", "Notes of earlier sessions; `recall` returns their text:", *lines)
    )


def overview(notes: Notes) -> str:
    """Return all notes with their files."""
    all_notes = notes.all()
    lines = [f"{note.scope}: {note.title}\n  {note.path}" for note in all_notes]
    return "\n".join(lines) or "There are no notes yet."


def _begin(note: Note) -> str:
    """The beginning of a note's text, without the title if the text repeats it."""
    text = " ".join(note.text.split()).removeprefix(note.title.rstrip("…")).strip()
    return text if len(text) <= 80 else f"{text[:79]}…"
