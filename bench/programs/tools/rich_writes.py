"""Writes members of archives, or rows; prints milliseconds of CPU per write and the peak in MB.

With ``bare`` the same is done with the standard library alone: append to a zip file, insert a row.
"""

from __future__ import annotations

import io
import resource
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from pi.batteries.rich_files import archives, databases

WRITES = 50
MEMBERS = 200


def sample_zip() -> bytes:
    """An archive of 200 members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(MEMBERS):
            archive.writestr(f"d/{number}.txt", f"line {number}\n" * 200)
    return out.getvalue()


def member_writes(kind: archives.Kind) -> Callable[[int], None]:
    """Replace members of one archive after another."""
    data = [sample_zip() if kind == "zip" else None]

    def write(number: int) -> None:
        name = f"d/{number}.txt"
        data[0] = archives.write_member(data[0], kind, name, b"new\n", now=1_700_000_000)

    return write


def bare_members(folder: Path) -> Callable[[int], None]:
    """Append members to an archive."""
    file = folder / "a.zip"
    file.write_bytes(sample_zip())

    def write(number: int) -> None:
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"n/{number}.txt", "new\n")

    return write


def sample_database(folder: Path) -> Path:
    """A table of 10,000 rows."""
    file = folder / "a.db"
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    db.executemany("INSERT INTO t (name) VALUES (?)", [(f"name {n}",) for n in range(10_000)])
    db.commit()
    db.close()
    return file


def row_writes(folder: Path) -> Callable[[int], None]:
    """Update rows as the tool does: in a copy for the guards, then in place."""
    file = sample_database(folder)

    def write(number: int) -> None:
        (ref,) = databases.database_paths(f"a.db:t:{number + 1}")
        databases.changed_copy(file, ref, '{"name": "new"}')
        with databases.changing(file) as db:
            databases.write_row(db, ref, '{"name": "new"}')

    return write


def bare_rows(folder: Path) -> Callable[[int], None]:
    """Update rows in place."""
    file = sample_database(folder)

    def write(number: int) -> None:
        db = sqlite3.connect(file)
        db.execute("UPDATE t SET name = 'new' WHERE id = ?", (number + 1,))
        db.commit()
        db.close()

    return write


def main() -> None:
    """Write, and print the figures."""
    what = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write = {
            "zip": lambda: member_writes("zip"),
            "tgz": lambda: member_writes("tgz"),
            "rows": lambda: row_writes(folder),
            "bare-zip": lambda: bare_members(folder),
            "bare-rows": lambda: bare_rows(folder),
        }[what]()
        began = time.process_time()
        for number in range(WRITES):
            write(number)
        took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{took / WRITES * 1e3:.3f} {peak:.1f}\n")


if __name__ == "__main__":
    main()
