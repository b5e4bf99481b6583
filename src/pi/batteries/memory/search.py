"""Full-text search in notes with SQLite's FTS5.

The index is in memory and made from the files, so that a note that is edited or deleted leaves no
copy anywhere.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from pi.batteries.memory.notes import Note

_WORDS = re.compile(r"\w+")
MOST_WORDS = 32
TITLE_WEIGHT = 5.0


def search(notes: Sequence[Note], query: str, most: int) -> list[Note]:
    """Return the notes that contain words of ``query``, the best first.

    Word forms and the beginnings of words match, accents and case do not matter.
    """
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
