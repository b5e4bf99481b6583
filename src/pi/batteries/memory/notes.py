"""Notes as Markdown files: one folder for the user, one for each project; full-text search."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from pi.extension import PiError, Record, one_line, read_regular, replace_file

Scope: TypeAlias = Literal["project", "user"]

MAX_NOTES = 500
"""Notes of one folder."""
MAX_TEXT = 8_000
"""Characters of a note."""
MAX_FILE = 256 * 1024
"""Bytes of a file that is read; a larger one is not a note."""
MAX_TITLE = 80
MOST_WORDS = 32
"""Words of a search."""
TITLE_WEIGHT = 5.0
_WORDS = re.compile(r"\w+")
_HEADING = re.compile(r"^#+\s*(.+)$", re.MULTILINE)


def note_folders(base: Path, project: Path) -> dict[Scope, Path]:
    """Return the folders below ``base``, which are created: of a project, and of the user.

    A project is known by its path. Nothing is written into the project itself: it may be shared,
    and it need not be trusted.
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

        The user may edit the files at any time, so they are looked at again.
        """
        found: list[Note] = []
        for scope, folder in self.folders.items():
            notes = (self._note(scope, path, stamp) for path, stamp in _files(folder))
            found += sorted(
                (note for note in notes if note is not None), key=lambda note: -note.stamp[0]
            )
        return found

    def find(self, name: str) -> Note:
        """Return the note with this name or title; raises ``PiError`` if there is none."""
        key = name.strip().casefold()
        for note in self.all():
            if key in (note.name.casefold(), note.title.casefold()):
                return note
        raise PiError(f'There is no note "{one_line(name)}".', hint="/memory lists all notes.")

    def write(self, scope: Scope, text: str, title: str = "", *, replace: bool = False) -> Note:
        """Write a note; an existing one is replaced only on request."""
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
        known = self._known.get(path)
        if known is not None and known.stamp == stamp:
            return known
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
    line = one_line(next((each for each in text.splitlines() if each.strip()), "note"))
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

    Word forms and the beginnings of words match, accents and case do not matter. The index is in
    memory and made from the files, so that a note that was edited or deleted leaves no copy.
    """
    import sqlite3  # deferred: most sessions search nothing

    words = _WORDS.findall(query)[:MOST_WORDS]
    if not words or not notes:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(
            "CREATE VIRTUAL TABLE note USING fts5(title, text,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        index.executemany(
            "INSERT INTO note(rowid, title, text) VALUES (?, ?, ?)",
            ((at, note.title, note.text) for at, note in enumerate(notes)),
        )
        # Quoted, so that a word such as NOT is a word; a star also finds longer words.
        match = " OR ".join(f'"{word}"*' for word in words)
        rows = index.execute(
            "SELECT rowid FROM note WHERE note MATCH ? ORDER BY bm25(note, ?, 1.0) LIMIT ?",
            (match, TITLE_WEIGHT, most),
        )
        return [notes[row] for (row,) in rows]
