"""The details of results of ``read`` and ``write``, and how they are drawn."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.rich_files.adapter import extension
from pi.batteries.rich_files.views import read as view
from pi.coding.port.drawing import PlainTheme
from pi.extension import ToolView, ViewOptions
from tests.coding.extension_host.extension_session import extension_session

ON = {"richFiles": {"enabled": True}}
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]/Contents 4 0 R"
    b"/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 41>>stream\nBT /F 24 Tf 20 40 Td (Hello paper) Tj ET \nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)
NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "source": ["print(41 + 1)"], "outputs":'
    ' [{"output_type": "stream", "name": "stdout", "text": ["42"]}]}],'
    ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


def prepare(folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w") as made:
        made.writestr("doc/paper.pdf", PDF)
        made.writestr("n.ipynb", NOTEBOOK)
    (folder / "paper.pdf").write_bytes(PDF)
    with sqlite3.connect(folder / "app.db") as db:
        db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
        db.executemany("INSERT INTO users (name) VALUES (?)", [(f"u{n}",) for n in range(20)])
    db.close()


async def results(tmp_path: Path, *steps: Step, ready: Any = prepare) -> list[ToolResultMessage]:
    script = (*steps, says("done"))
    async with extension_session(tmp_path, extension, steps=script, settings=ON) as hosted:
        ready(Path(hosted.session.workspace.cwd))
        await hosted.session.prompt("go")
        assert hosted.failures == []
        return [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]


def text(result: ToolResultMessage) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def project(tmp_path: Path) -> Path:
    return next(tmp_path.rglob("project"))


async def test_a_pdf_is_read_as_text_and_pages_also_inside_an_archive(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    plain, pictures, member, notebook = await results(
        tmp_path,
        calls("read", path="paper.pdf"),
        calls("read", path="paper.pdf?images"),
        calls("read", path="a.zip:doc/paper.pdf"),
        calls("read", path="a.zip:n.ipynb"),
    )

    assert " ".join(text(plain).split()) == "--- Page 1 of 1 --- Hello paper [1 page]"
    assert [type(part).__name__ for part in pictures.content] == ["Text", "Image"]
    assert "Hello paper" in text(member)
    assert "print(41 + 1)" in text(notebook)
    assert '"cells"' not in text(notebook)


async def test_results_name_the_file_that_was_changed(tmp_path: Path) -> None:
    archive, row, script = await results(
        tmp_path,
        calls("write", path="a.zip:new.txt", content="ü😀"),
        calls("write", path="app.db:users", content="{name: 'x'}"),
        calls("write", path="run", content="#!/bin/sh\n"),
    )

    folder = project(tmp_path)
    assert archive.details == {"resolvedPath": str(folder / "a.zip")}
    assert text(archive) == "Successfully wrote 6 bytes to a.zip:new.txt"
    assert row.details == {"meta": {"sourcePath": str(folder / "app.db")}}
    assert isinstance(script.details, dict)
    assert script.details["madeExecutable"] is True


def merged(folder: Path) -> None:
    """Two conflicts with a base and the line ends of Windows, made by git."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    git += ["-c", "merge.conflictStyle=diff3", "-c", "core.autocrlf=false"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}

    def run(*arguments: str) -> None:
        subprocess.run([*git, *arguments], cwd=folder, env=env, check=False, capture_output=True)

    file = folder / "f.txt"
    run("init", "-q", "-b", "main")
    for branch, word in (("main", "base"), ("side", "theirs"), ("main", "ours")):
        run("checkout", "-q", "-B" if branch == "side" else "-q", branch)
        middle = "".join(f"line {n}\r\n" for n in range(10))
        file.write_text(f"{word} 1\r\n{middle}{word} 2\r\n", newline="")
        run("add", "f.txt")
        run("commit", "-qm", word)
    run("merge", "-q", "side")
    assert file.read_text().count("<<<<<<<") == 2


async def test_all_conflicts_of_a_merge_are_resolved(tmp_path: Path) -> None:
    conflicts_result, base, _, done = await results(
        tmp_path,
        calls("read", path="f.txt"),
        calls("read", path="conflict://2/base"),
        calls("write", path="conflict://1", content="@theirs"),
        calls("write", path="conflict://*", content="@base"),
        ready=merged,
    )

    assert "conflict://1 (line 1), conflict://2" in text(conflicts_result)
    assert text(base).rstrip() == "base 2"
    assert isinstance(done.details, dict)
    assert done.details["resolvedFiles"] == [str(project(tmp_path) / "f.txt")]
    data = (project(tmp_path) / "f.txt").read_bytes()
    assert data.startswith(b"theirs 1\r\nline 0\r\n")
    assert data.endswith(b"line 9\r\nbase 2\r\n")


def call(details: Any, **fields: Any) -> ToolView:
    arguments = {"path": "x"}
    return ToolView(
        **{"id": "1", "name": "read", "arguments": arguments, "state": "done", "details": details}
        | fields
    )


def test_rows_are_drawn_as_a_table() -> None:
    rows = [[n, "name " * n, None] for n in range(12)]
    details = {"columns": ["id", "name", "more"], "rows": rows}
    collapsed = view(call(details), ViewOptions(), PlainTheme())
    expanded = view(call(details), ViewOptions(expanded=True), PlainTheme())

    assert collapsed is not None
    assert expanded is not None
    assert collapsed[0] == "x 12 rows, 3 columns"
    assert [part.strip() for part in collapsed[1].split("│")] == ["id", "name", "more"]
    assert collapsed[-1] == "… 4 more"
    assert len({line.index("│") for line in expanded[1:]}) == 1


def test_wide_tables_are_truncated() -> None:
    details = {"columns": [f"c{n}" for n in range(9)], "rows": [["v" * 60] * 9]}
    rows = view(call(details), ViewOptions(), PlainTheme())

    assert rows is not None
    assert all(len(row) <= 105 for row in rows[1:])
    assert rows[1].endswith("…")


def test_members_and_tables_are_drawn_as_lists_and_other_files_as_usual() -> None:
    members = {"members": [{"name": f"m{n}\n", "size": 1000} for n in range(10)]}
    rows = view(call(members), ViewOptions(), PlainTheme())

    assert rows is not None
    assert (rows[0], rows[-1]) == ("x 10 members", "… 2 more")
    assert "1,000 bytes" in rows[1]
    assert view(call({"tables": ["a"]}), ViewOptions(), PlainTheme()) == ["x 1 table", "a"]
    assert view(call({"truncation": {}}), ViewOptions(), PlainTheme()) is None
    assert view(call(None), ViewOptions(), PlainTheme()) is None


def tables(folder: Path) -> None:
    with sqlite3.connect(folder / "app.db") as db:
        db.execute("CREATE TABLE plain (name TEXT DEFAULT 'none')")
        db.execute("CREATE TABLE keyed (id TEXT PRIMARY KEY) WITHOUT ROWID")
        db.execute("CREATE VIEW seen AS SELECT * FROM plain")
    db.close()
    (folder / "text.db").write_text("no database\n")


async def test_rows_of_unusual_tables_are_written_or_rejected(tmp_path: Path) -> None:
    all_results = await results(
        tmp_path,
        calls("write", path="app.db:plain", content="{}"),
        calls("read", path="app.db:plain:1"),
        calls("write", path="app.db:keyed:a", content="{id: 'b'}"),
        calls("write", path="app.db:seen:1", content="{name: 'x'}"),
        calls("write", path="app.db:absent", content="{}"),
        calls("write", path="app.db:plain", content="{name: "),
        calls("write", path="text.db", content="still text\n"),
        calls("write", path="b.zip:app.db:plain", content="a member\n"),
        ready=tables,
    )

    texts = [("! " if result.is_error else "") + text(result) for result in all_results]
    assert texts[:2] == ["Inserted row into plain", "name: none"]
    assert texts[2] == "! keyed is a WITHOUT ROWID table; rows cannot be addressed by a key."
    assert texts[3] == "! seen is a view; its rows have no key."
    assert texts[4].startswith("! There is no table absent; the database has ")
    assert texts[5].startswith("! The row is not valid JSON5: ")
    assert (project(tmp_path) / "text.db").read_text() == "still text\n"
    assert texts[7] == "Successfully wrote 9 bytes to b.zip:app.db:plain"
