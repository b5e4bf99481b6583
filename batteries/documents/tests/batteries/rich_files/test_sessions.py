"""Archives, databases, conflicts and documents in real sessions, with a script as the model."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolFailed
from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.rich_files import archives
from pi.batteries.rich_files.adapter import extension
from pi.extension import ExtensionAPI, FileChange, FileWrite, FileWritten, ToolCall
from pi.testing import Reply
from tests.coding.extension_host.extension_session import extension_session

ON = {"richFiles": {"enabled": True}}
Prepare = Callable[[Path], None]


async def outputs(tmp_path: Path, prepare: Prepare, *steps: Step, more: Any = ()) -> list[Any]:
    """The results as texts, in the order of the calls; errors start with ``! ``."""
    script = (*steps, says("done"))
    async with extension_session(tmp_path, extension, *more, steps=script, settings=ON) as hosted:
        prepare(Path(hosted.session.workspace.cwd))
        await hosted.session.prompt("go")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert hosted.failures == []
    return [
        ("! " if m.is_error else "") + "\n".join(p.text for p in m.content if isinstance(p, Text))
        for m in results
    ]


def project(tmp_path: Path) -> Path:
    return next(tmp_path.rglob("project"))


def write(path: str, content: str) -> Step:
    return calls("write", path=path, content=content)


def read(path: str, **more: Any) -> Step:
    return calls("read", path=path, **more)


def nothing(folder: Path) -> None:
    """An empty project."""


def make_tar(folder: Path) -> None:
    with tarfile.open(folder / "a.tar.gz", "w:gz") as tar:
        script = tarfile.TarInfo("bin/run")
        script.mode, script.mtime, script.size = 0o755, 1_000_000, 3
        tar.addfile(script, io.BytesIO(b"run"))
        link = tarfile.TarInfo("bin/link")
        link.type, link.linkname = tarfile.SYMTYPE, "run"
        tar.addfile(link)
        last = tarfile.TarInfo("last")
        last.size = 1
        tar.addfile(last, io.BytesIO(b"x"))


@pytest.mark.full
@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
async def test_20_parallel_writes_keep_20_entries(tmp_path: Path, name: str) -> None:
    parallel = Reply(
        blocks=tuple(
            ToolCall(
                id=f"c{n}", name="write", arguments={"path": f"{name}:d/{n}", "content": f"{n}"}
            )
            for n in range(20)
        )
    )

    results = await outputs(tmp_path, nothing, parallel, read(f"{name}:d/7"))

    assert results[:20] == [
        f"Successfully wrote {len(str(n))} bytes to {name}:d/{n}" for n in range(20)
    ]
    assert results[20] == "7"
    data = (project(tmp_path) / name).read_bytes()
    assert sorted(m.name for m in archives.members(data, archives.kind_of(name))) == sorted(
        f"d/{n}" for n in range(20)
    )


async def test_modes_links_dates_and_order_are_kept(tmp_path: Path) -> None:
    results = await outputs(
        tmp_path,
        make_tar,
        write("a.tar.gz:last", "new"),
        write("a.tar.gz:bin/run", "again"),
        read("a.tar.gz"),
        read("a.tar.gz:bin/link"),
    )

    assert results[2].splitlines()[:2] == ["0755 bin/run (5 bytes)", "0644 bin/link -> run"]
    assert results[3] == "! bin/link is a link to run; read its target instead."
    with tarfile.open(project(tmp_path) / "a.tar.gz") as tar:
        assert tar.getnames() == ["bin/run", "bin/link", "last"]
        assert tar.getmember("bin/run").mode == 0o755
        assert tar.getmember("bin/link").issym()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("a.zip:../x", "! Archive path cannot contain '..'"),
        ("a.zip:d/", "! Archive write path must target a file, not a directory"),
        ("a.zip:", "! Archive write path must target a file inside the archive"),
    ],
)
async def test_paths_that_cannot_be_written_are_rejected(
    tmp_path: Path, path: str, error: str
) -> None:
    assert await outputs(tmp_path, nothing, write(path, "x")) == [error]


async def test_a_file_with_the_literal_name_is_preferred(tmp_path: Path) -> None:
    def literal(folder: Path) -> None:
        (folder / "a.zip:b").write_text("literal")

    results = await outputs(tmp_path, literal, read("a.zip:b"), write("a.zip:b", "changed"))

    assert results[0] == "literal"
    assert (project(tmp_path) / "a.zip:b").read_text() == "changed"


def test_decompression_bombs_are_rejected() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", bytes(8 * 1024**2))
    with tarfile.open(fileobj=(tar := io.BytesIO()), mode="w:gz") as archive:
        info = tarfile.TarInfo("zeros")
        info.size = 8 * 1024**2
        archive.addfile(info, io.BytesIO(bytes(info.size)))

    with pytest.raises(ToolFailed, match="was refused"):
        archives.read_member(packed.getvalue(), "zip", "zeros")
    with pytest.raises(ToolFailed, match="was refused"):
        archives.members(tar.getvalue(), "tgz")


def make_db(folder: Path) -> None:
    with sqlite3.connect(folder / "app.db") as db:
        db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, active INT)")
        db.executemany("INSERT INTO users (name) VALUES (?)", [(f"u{n}",) for n in range(30)])
        db.execute("CREATE TABLE pairs (a, b, PRIMARY KEY (a, b))")
    db.close()


async def test_rows_are_read_inserted_updated_and_deleted(tmp_path: Path) -> None:
    results = await outputs(
        tmp_path,
        make_db,
        read("app.db"),
        read("app.db:users:3"),
        read("app.db:users?limit=2&offset=1&order=-id"),
        read("app.db:users?where=name='u5'"),
        read("app.db?q=SELECT count(*) AS n FROM users"),
        write("app.db:users", "{name: 'Ada', active: true, /* JSON5 */}"),
        write("app.db:users:31", '{"name": "Eve"}'),
        write("app.db:users:99", '{"name": "x"}'),
        write("app.db:users:1", " "),
        write("app.db:users:1", ""),
        read("app.db:users:31"),
    )

    assert results[0].startswith("pairs (table, 0 rows)\nusers (table, 30 rows)\n\n[Read app.db:")
    assert results[1] == "id: 3\nname: u2\nactive: NULL"
    assert results[2].splitlines()[2:4] == ["29 | u28 | NULL", "28 | u27 | NULL"]
    assert results[3].splitlines()[2] == "6 | u5 | NULL"
    assert results[4].splitlines()[2] == "30"
    assert results[5:10] == [
        "Inserted row into users",
        "Updated row '31' in users",
        "No row updated: there is no row '99' in users",
        "Deleted row '1' from users",
        "No row deleted: there is no row '1' in users",
    ]
    assert results[10] == "id: 31\nname: Eve\nactive: 1"


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'x.db' AS x",
        "PRAGMA journal_mode=DELETE",
        "DELETE FROM users",
        "SELECT load_extension('x')",
    ],
)
async def test_a_query_can_only_read(tmp_path: Path, sql: str) -> None:
    (result,) = await outputs(tmp_path, make_db, read(f"app.db?q={sql}"))

    assert result.startswith("! ")
    assert not (project(tmp_path) / "x.db").exists()


@pytest.mark.parametrize(
    ("path", "content", "error"),
    [
        ("app.db:users?limit=1", "{}", "SQLite write paths do not support query parameters"),
        ("app.db", "{}", "SQLite write path must target a table"),
        ("app.db:users:", "{}", "SQLite row writes require a non-empty row key"),
        ("no.db:users", "{}", "SQLite database 'no.db' not found"),
        ("app.db:users", "[1]", "The row must be an object"),
        ("app.db:users", "{zzz: 1}", "There is no column zzz"),
        ("app.db:users", "{name: [1]}", "The value of name must be a scalar"),
        ("app.db:users:1", "{}", "The row has no columns to update."),
        ("app.db:pairs:1", "{a: 1}", "pairs has a composite primary key"),
    ],
)
async def test_invalid_row_writes_are_rejected(
    tmp_path: Path, path: str, content: str, error: str
) -> None:
    (result,) = await outputs(tmp_path, make_db, write(path, content))

    assert result.startswith(f"! {error}")


async def test_row_writes_pass_through_the_file_wraps(tmp_path: Path) -> None:
    def guard(pi: ExtensionAPI) -> None:
        async def layer(change: FileChange, go_on: FileWrite) -> FileWritten:
            raise ToolFailed(f"{change.path.name} is protected")

        pi.wrap_files(layer)

    results = await outputs(tmp_path, make_db, write("app.db:users", "{}"), more=(guard,))

    assert results == ["! app.db is protected"]
    with sqlite3.connect(project(tmp_path) / "app.db") as db:
        assert db.execute("SELECT count(*) FROM users").fetchone() == (30,)
    db.close()


def conflicted(folder: Path) -> None:
    """A real merge conflict of git."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}

    def run(*arguments: str) -> None:
        subprocess.run([*git, *arguments], cwd=folder, env=env, check=False, capture_output=True)

    file = folder / "f.txt"
    run("init", "-q", "-b", "main")
    for branch, text in (("main", "base"), ("side", "theirs"), ("main", "ours")):
        run("checkout", "-q", "-B" if branch == "side" else "-q", branch)
        file.write_text(f"top\n{text}\nend\n")
        run("add", "f.txt")
        run("commit", "-qm", text)
    run("merge", "-q", "side")
    assert "<<<<<<<" in file.read_text()


@pytest.mark.parametrize(
    ("content", "expected"),
    [("@ours", "ours\n"), ("@both", "ours\ntheirs\n"), ("mine", "mine\n")],
)
async def test_a_conflict_of_git_is_resolved(tmp_path: Path, content: str, expected: str) -> None:
    results = await outputs(
        tmp_path,
        conflicted,
        read("f.txt"),
        read("conflict://1/theirs"),
        write("conflict://1/ours", "x"),
        write("conflict://*", content),
        write("conflict://1", "x"),
    )

    assert "conflict://1 (line 2)" in results[0]
    assert results[1] == "theirs\n"
    assert results[2].startswith("! conflict://1/ours is read-only")
    assert results[3] == "Resolved conflict://1 in f.txt:2"
    assert results[4].startswith("! There is no conflict '1'")
    assert (project(tmp_path) / "f.txt").read_text() == f"top\n{expected}end\n"


async def test_scripts_become_executable_and_generated_files_are_kept(tmp_path: Path) -> None:
    def generated(folder: Path) -> None:
        (folder / "api.go").write_text("// Code generated by protoc. DO NOT EDIT.\n")

    results = await outputs(tmp_path, generated, write("run", "#!/bin/sh\n"), write("api.go", "x"))

    assert results[0].endswith("Made run executable.")
    assert (project(tmp_path) / "run").stat().st_mode & 0o111
    assert results[1].startswith("! api.go is generated")


async def test_a_notebook_is_read_as_cells(tmp_path: Path) -> None:
    def notebook(folder: Path) -> None:
        (folder / "n.ipynb").write_text(
            '{"cells": [{"cell_type": "code", "source": ["print(41 + 1)"], "outputs":'
            ' [{"output_type": "stream", "name": "stdout", "text": ["42"]}]}],'
            ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
        )

    (result,) = await outputs(tmp_path, notebook, read("n.ipynb"))

    assert "print(41 + 1)" in result
    assert "42" in result
    assert '"cells"' not in result
