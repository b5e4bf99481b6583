"""Rules about files hold for what a call touches, however it is written."""

from __future__ import annotations

import json
import os
import sqlite3
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

from tests.journeys.model_server import Answer
from tests.journeys.program import Journey

SECRET = "TOP-SECRET-4711"
Call = tuple[str, dict[str, Any]]


def denied_files(folder: Path) -> list[str]:
    """Write files with the secret, and return the rules that deny to read them."""
    (folder / "sub").mkdir()
    (folder / ".env").write_text(f"KEY={SECRET}\n")
    for name in ("my file.txt", "it's.txt", "\u00e9t\u00e9.txt", "page.txt", "sub/deep.txt"):
        (folder / name).write_text(f"{SECRET}\n")
    (folder / "code.py").write_text(f"KEY = '{SECRET}'\n")
    with zipfile.ZipFile(folder / "keys.zip", "w") as archive:
        archive.writestr("a.txt", SECRET)
    with zipfile.ZipFile(folder / "other.zip", "w") as archive:
        archive.writestr("in/.env", SECRET)
    with sqlite3.connect(folder / "data.db") as database:
        database.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
        database.execute("INSERT INTO t VALUES (1, ?)", (SECRET,))
    database.close()
    cell = {"cell_type": "code", "source": [SECRET], "metadata": {}, "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notes.ipynb").write_text(json.dumps(notebook))
    (folder / "conflict.txt").write_text(f"<<<<<<< a\n{SECRET}\n=======\nx\n>>>>>>> b\n")
    (folder / "link.txt").symlink_to(".env")
    (folder / "sub/up").symlink_to("..")
    os.link(folder / ".env", folder / "hard.txt")
    names = (
        *(".env", "my file.txt", "it's.txt", "\u00e9t\u00e9.txt", "page.txt", "sub/deep.txt"),
        *("code.py", "keys.zip", "data.db", "notes.ipynb", "conflict.txt"),
    )
    return [f"Read({name})" for name in names]


def reads(folder: Path) -> list[Call]:
    """Return calls that would show the secret."""
    paths = [
        *(".env", "./.env", "sub/../.env", "sub//..//.env", ".ENV", "@.env", f"{folder}/.env"),
        *(f"file://{folder}/.env", f"file://{folder}/%2eenv", f"file://{folder}/%2Eenv"),
        *(f"file://localhost{folder}/.env", f"file://{folder}/sub/%2e%2e/.env"),
        *("link.txt", "sub/up/.env", "hard.txt", f"/proc/self/root{folder}/.env"),
        *("my\u00a0file.txt", "my\u202ffile.txt", "my  file.txt", "it\u2019s.txt"),
        *(
            unicodedata.normalize("NFD", "\u00e9t\u00e9.txt"),
            "page.txt",
            "page.txt/",
            "sub/deep.txt",
        ),
        *("keys.zip:a.txt", "./keys.zip:a.txt", "keys.zip", "KEYS.ZIP:a.txt", "other.zip:in/.env"),
        *("data.db", "data.db:t", "data.db:t:1", "data.db?q=SELECT v FROM t", "data.db:t?limit=1"),
        *("notes.ipynb", "notes.ipynb?pages=1", "conflict.txt", "conflict://1", "conflict://*"),
        *("~/../work/.env", f"file://{folder}/keys.zip:a.txt"),
    ]
    calls: list[Call] = [("read", {"path": path}) for path in paths]
    for tool, arguments in (
        ("grep", {"pattern": "SECRET"}),
        ("grep", {"pattern": "SECRET", "path": "."}),
        ("grep", {"pattern": "SECRET", "path": "sub"}),
        ("grep", {"pattern": "SECRET", "path": "sub/up"}),
        ("grep", {"pattern": "SECRET", "path": ".env"}),
        ("grep", {"pattern": "SECRET", "glob": ".env"}),
        ("grep", {"pattern": "x", "path": "conflict.txt", "context": 5}),
        ("ast_grep", {"pattern": "KEY = $X"}),
        ("ast_grep", {"pattern": "KEY = $X", "path": "code.py"}),
        ("ast_edit", {"ops": [{"pattern": "KEY = $X", "rewrite": "K = $X"}]}),
        ("edit", {"path": "page.txt", "edits": [{"oldText": "TOP", "newText": "TIP"}]}),
        ("write", {"path": "keys.zip:b.txt", "content": "x"}),
        ("write", {"path": "data.db:t:1", "content": '{"v": "x"}'}),
        ("bash", {"command": "cat .env"}),
        ("bash", {"command": "cat 'my file.txt'"}),
    ):
        calls.append((tool, arguments))
    return calls


TOOLS = "read,grep,find,ls,write,edit,bash,ast_grep,ast_edit,resolve"


def test_no_spelling_of_a_denied_file_is_read(journey: Journey) -> None:
    rules = denied_files(journey.home.cwd)
    journey.home.use_settings(
        permissions={"mode": "auto-edit", "deny": rules, "allow": ["Bash", "Edit", "Read"]},
        richFiles={"enabled": True},
        astTools={"enabled": True},
    )
    attempts = reads(journey.home.cwd)
    journey.model.script(Answer(calls=tuple(attempts)))

    ended = journey.pi("--tools", TOOLS, "-p", "go")

    assert ended.code == 0, ended.err
    results = journey.model.results_of()
    assert len(results) == len(attempts)
    shown = [call for call, text in zip(attempts, results, strict=True) if "4711" in text]
    assert shown == []
    assert SECRET in (journey.home.cwd / "page.txt").read_text()


def test_a_search_leaves_out_denied_files_and_shows_the_others(journey: Journey) -> None:
    rules = denied_files(journey.home.cwd)
    (journey.home.cwd / "open.py").write_text("KEY = 'SECRET but open'\n")
    journey.home.use_settings(
        permissions={"mode": "ask", "deny": rules}, astTools={"enabled": True}
    )
    journey.model.script(
        Answer(
            calls=(
                ("grep", {"pattern": "SECRET"}),
                ("find", {"pattern": "*"}),
                ("ls", {}),
                ("ast_grep", {"pattern": "KEY = $X"}),
            )
        )
    )

    journey.pi("--tools", TOOLS, "-p", "go")

    grep, find, ls, syntax = journey.model.results_of()
    assert grep == "open.py:1: KEY = 'SECRET but open'"
    assert "open.py" in syntax and "code.py" not in syntax
    for names in (find, ls):
        assert "open.py" in names
        assert not {"page.txt", ".env", "hard.txt", "link.txt"} & {*names.split("\n")}


def outside_writes(folder: Path) -> list[Call]:
    """Return calls that would write ``../out.txt``; several hide it behind another path."""
    out = folder.parent / "out.txt"
    patch = "*** Begin Patch\n*** Add File: ../out.txt\n+x\n*** End Patch"
    return [
        ("write", {"path": "../out.txt", "content": "x"}),
        ("write", {"path": f"file://{folder}/%2e%2e/out.txt", "content": "x"}),
        ("write", {"path": f"file://{folder}/a/../%2E%2e/out.txt", "content": "x"}),
        ("write", {"path": "out-link/out.txt", "content": "x"}),
        ("write", {"path": "~/../out.txt", "content": "x"}),
        ("write", {"path": f"@{out}", "content": "x"}),
        ("write", {"path": "../out.zip:a/b.txt", "content": "x"}),
        ("edit", {"input": patch, "path": "decoy.txt"}),
        ("edit", {"input": patch.replace("../out.txt", str(out))}),
        (
            "edit",
            {
                "input": "*** Begin Patch\n*** Update File: decoy.txt\n*** Move to: ../out.txt\n"
                "*** End Patch"
            },
        ),
    ]


def test_no_spelling_of_a_path_writes_outside_of_the_project(journey: Journey) -> None:
    folder = journey.home.cwd
    (folder / "decoy.txt").write_text("x\n")
    (folder / "out-link").symlink_to("..")
    journey.home.use_settings(
        permissions={"mode": "auto-edit"},
        richFiles={"enabled": True},
        edit={"variant": "apply_patch"},
    )
    attempts = outside_writes(folder)
    journey.model.script(
        *(Answer(calls=(call,)) for call in attempts),
        Answer(calls=(("write", {"path": "inside.txt", "content": "x"}),)),
    )

    ended = journey.pi("-p", "go")

    assert ended.code == 0
    for result in journey.model.results_of()[: len(attempts)]:
        assert "needs the consent" in result, result
    assert (folder / "inside.txt").read_text() == "x"
    assert (folder / "decoy.txt").exists()
    assert sorted(path.name for path in folder.parent.iterdir()) == ["home", "work"]


def test_a_unified_diff_is_judged_by_the_files_in_it_and_not_by_its_path(journey: Journey) -> None:
    folder = journey.home.cwd
    (folder.parent / "out.txt").write_text("a\n")
    patch = "--- ../out.txt\n+++ ../out.txt\n@@ -1 +1 @@\n-a\n+b\n"
    renamed = "diff --git a/x b/x\nrename from decoy.txt\nrename to ../moved.txt\n"
    (folder / "decoy.txt").write_text("x\n")
    journey.home.use_settings(permissions={"mode": "auto-edit"}, edit={"variant": "patch"})
    journey.model.script(
        *(
            Answer(calls=(("edit", {"patch": text, "path": "decoy.txt"}),))
            for text in (patch, renamed)
        ),
    )

    journey.pi("-p", "go")

    assert all("needs the consent" in text for text in journey.model.results_of())
    assert (folder.parent / "out.txt").read_text() == "a\n"
    assert not (folder.parent / "moved.txt").exists()


def test_an_applied_preview_writes_outside_of_the_project_only_with_consent(
    journey: Journey,
) -> None:
    outside = journey.home.cwd.parent / "lib.py"
    outside.write_text("old(1)\n")
    (journey.home.cwd / "in.py").write_text("old(1)\n")
    rewrite = {"ops": [{"pattern": "old($X)", "rewrite": "new($X)"}]}
    journey.home.use_settings(permissions={"mode": "auto-edit"}, astTools={"enabled": True})
    journey.model.script(
        Answer(calls=(("ast_edit", {**rewrite, "path": "../lib.py"}),)),
        Answer(calls=(("resolve", {"action": "apply", "reason": "go"}),)),
        Answer(calls=(("ast_edit", {**rewrite, "path": "in.py"}),)),
        Answer(calls=(("resolve", {"action": "apply", "reason": "go"}),)),
    )

    journey.pi("-p", "go")

    assert "needs the consent" in journey.model.results_of()[1]
    assert outside.read_text() == "old(1)\n"
    assert (journey.home.cwd / "in.py").read_text() == "new(1)\n"


def test_the_option_for_the_mode_holds_in_print_mode(journey: Journey) -> None:
    journey.model.calls("write", path="a.txt", content="x")

    ended = journey.pi("-p", "--permission-mode", "ask", "go")

    assert (ended.code, ended.err) == (0, "")
    assert "needs the consent" in journey.model.results_of()[0]
    assert not (journey.home.cwd / "a.txt").exists()
