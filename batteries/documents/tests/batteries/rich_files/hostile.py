"""Archives and databases that are damaged or made to do harm, one per number; and how they are
used. As a program it prints the peak of its memory in MB."""

from __future__ import annotations

import gzip
import io
import random
import sqlite3
import stat
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

from pi.batteries.rich_files import archives, databases
from pi.extension import ToolFailed
from tests.bounded import peak_memory

NAMES = ("a.txt", "d/b.txt", "../../escape", "/etc/passwd", "d/../../x", "ü.txt", "a.txt")


def make_zip(dice: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", dice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as made:
        for name in dice.sample(NAMES, 4):
            info = zipfile.ZipInfo(name)
            made.NameToInfo.pop(name, None)  # twice the same name
            info.external_attr = dice.choice([stat.S_IFREG | 0o755, stat.S_IFLNK | 0o777]) << 16
            made.writestr(info, dice.randbytes(dice.randint(0, 3000)))
    return out.getvalue()


def make_tar(dice: random.Random) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:") as made:
        for name in dice.sample(NAMES, 4):
            info = tarfile.TarInfo(name)
            info.type = dice.choice(
                [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE]
            )
            info.linkname = "/etc/passwd" if info.type != tarfile.REGTYPE else ""
            data = dice.randbytes(dice.randint(0, 3000)) if info.isreg() else b""
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_bomb(dice: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(dice.randint(1, 3)):
            made.writestr(f"zeros{number}", bytes(dice.randint(2, 20) * 1024**2))
    return out.getvalue()


def tar_bomb(dice: random.Random) -> bytes:
    """Below the limit of the ratio, so that it is unpacked up to the limit of the size."""
    noise, out = dice.randbytes(8192), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as made:
        info = tarfile.TarInfo("large")
        info.size = dice.randint(20, 60) * 1024**2
        piece = noise + bytes(1024**2 - len(noise))
        made.addfile(info, io.BytesIO(piece * (info.size // len(piece) + 1)))
    return out.getvalue()


def encrypted(dice: random.Random) -> bytes:
    data = bytearray(make_zip(dice))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = data.find(mark)
        while position >= 0:
            data[position + offset] |= 1
            position = data.find(mark, position + 4)
    return bytes(data)


def damaged(data: bytes, dice: random.Random) -> bytes:
    """Cut, with some bytes changed, with garbage around it, or unchanged."""
    match dice.randrange(5):
        case 0:
            return data[: dice.randrange(len(data))]
        case 1:
            changed = bytearray(data)
            for _ in range(dice.randint(1, 20)):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            return bytes(changed)
        case 2:
            return dice.randbytes(dice.randint(1, 600)) + data
        case 3:
            return data + dice.randbytes(dice.randint(1, 600))
        case _:
            return data


def hostile_archive(number: int) -> tuple[bytes, archives.Kind]:
    dice = random.Random(number)
    kinds: list[tuple[Callable[[], bytes], archives.Kind]] = [
        (lambda: zip_bomb(dice), "zip"),
        (lambda: encrypted(dice), "zip"),
        (lambda: damaged(make_zip(dice), dice), "zip"),
        (lambda: damaged(make_zip(dice), dice), "zip"),
        (lambda: damaged(make_tar(dice), dice), "tar"),
        (lambda: damaged(make_tar(dice), dice), "tar"),
        (lambda: damaged(gzip.compress(make_tar(dice), mtime=0), dice), "tgz"),
        (lambda: gzip.compress(damaged(make_tar(dice), dice), mtime=0), "tgz"),
    ]
    if number % 100 == 8:
        return tar_bomb(dice), "tgz"
    make, kind = dice.choice(kinds)
    return make(), kind


def use_archive(number: int) -> str:
    """List, read and write; returns what happened. Raises only if something is wrong."""
    data, kind = hostile_archive(number)
    try:
        before = archives.members(data, kind)
        readable = {}
        for name in dict.fromkeys(archives.clean_name(member.name) for member in before):
            try:
                readable[name] = archives.read_member(data, kind, name)
            except ToolFailed as error:
                assert_clear(error)
        changed = archives.write_member(data, kind, "new.txt", b"new", now=1_700_000_000)
    except ToolFailed as error:
        assert_clear(error)
        return error.message.split(":")[0]
    after = archives.members(changed, kind)
    assert [member.name for member in after] == [*(member.name for member in before), "new.txt"]
    for name, content in readable.items():
        assert archives.read_member(changed, kind, name) == content
    return "written"


def make_database(file: Path, dice: random.Random, *, is_endless: bool) -> None:
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
    rows = [("x" * dice.randint(0, 500),) for _ in range(dice.randint(1, 80))]
    db.executemany("INSERT INTO users (name) VALUES (?)", rows)
    match 1 if is_endless else dice.randrange(4):
        case 0:
            db.execute("CREATE TRIGGER t BEFORE INSERT ON users BEGIN SELECT randomblob(1e9); END")
        case 1 if is_endless:
            db.execute(
                "CREATE VIEW endless AS WITH RECURSIVE n(x) AS"
                " (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
            )
        case _:
            pass
    db.commit()
    db.close()


def use_database(number: int, folder: Path) -> str:
    """Read and write a row; returns what happened. Raises only if something is wrong."""
    dice = random.Random(number)
    file = folder / f"{number}.db"
    make_database(file, dice, is_endless=number % 200 == 71)  # takes 5 s
    is_locked = number % 200 == 3  # takes 3 s
    if not is_locked:
        data = damaged(file.read_bytes(), dice)
        file.write_bytes(data)
    before = file.read_bytes()
    holder = sqlite3.connect(file) if is_locked else None
    if holder is not None:
        holder.execute("BEGIN EXCLUSIVE")
    (listed,) = databases.database_paths("x.db")
    (table,) = databases.database_paths("x.db:users")
    (row,) = databases.database_paths("x.db:users:1")
    outcome = "written"
    try:
        for ref in (listed, table, row):
            databases.read_database(file, ref, threading.Event())
        _, result = databases.changed_copy(file, row, "{name: 'new'}")
        with databases.changing(file) as db:
            databases.write_row(db, row, "{name: 'new'}")
        assert result.text in (
            "Updated row '1' in users",
            "No row updated: there is no row '1' in users",
        )
    except ToolFailed as error:
        assert_clear(error)
        assert file.read_bytes() == before
        outcome = error.message
    finally:
        if holder is not None:
            holder.close()
        file.unlink()
    return outcome


def assert_clear(error: ToolFailed) -> None:
    text = error.message
    assert text and "Traceback" not in text and "\n" not in text, text
    assert len(text) < 2000, text


def main() -> None:
    """Use as many as the arguments say."""
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            if number % 2:
                use_database(number, Path(folder))
            else:
                use_archive(number)
    sys.stdout.write(f"{peak_memory():.0f}\n")


if __name__ == "__main__":
    main()
