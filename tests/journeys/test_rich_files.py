"""What the model learns about archives, databases, documents and conflicts (``richFiles``)."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from typing import Any

import pytest

from tests.journeys.model_server import Answer, calls
from tests.journeys.program import Journey

FORMS = ("app.zip:inner/path", "app.sqlite:table:key", "conflict://N")
CONFLICT = "a\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\nz\n"


def declared(journey: Journey, tool: str) -> dict[str, Any]:
    """What the last request declares about a tool."""
    functions = (declared["function"] for declared in journey.model.last["tools"])
    return next(function for function in functions if function["name"] == tool)


def test_read_and_write_declare_every_form_that_is_available(journey: Journey) -> None:
    journey.pi("-p", "hi")
    plain = json.dumps(journey.model.last["tools"])
    journey.home.use_settings(richFiles={"enabled": True})
    journey.pi("-p", "hi")

    for tool in ("read", "write"):
        path = declared(journey, tool)["parameters"]["properties"]["path"]["description"]
        assert all(form in path for form in FORMS), path
    assert all(
        word in declared(journey, "read")["description"]
        for word in ("archives", "SQLite", "?q=SELECT", "PDFs", "notebooks", "conflicts")
    )
    assert "@ours" in declared(journey, "write")["description"]
    assert len(json.dumps(journey.model.last["tools"])) - len(plain) <= 4 * 120


def test_the_tables_of_a_database_end_with_how_to_go_on(journey: Journey) -> None:
    journey.home.use_settings(richFiles={"enabled": True})
    with sqlite3.connect(journey.home.cwd / "app.sqlite") as database:
        database.execute("create table users(id integer primary key, name text)")
        database.execute("insert into users(name) values ('Ada')")
    database.close()
    for path in ("app.sqlite", "app.sqlite:users", "app.sqlite:users:1", "app.sqlite?q=SELECT 7"):
        journey.model.calls("read", path=path)
    assert journey.pi("-p", "look").code == 0

    tables, rows, row, query = journey.model.results_of()
    assert tables == (
        "users (table, 1 rows)\n\n[Read app.sqlite:TABLE for its columns and first rows,"
        " app.sqlite:TABLE:KEY for one row, app.sqlite?q=SELECT … for a query.]"
    )
    assert "1 | Ada" in rows
    assert row == "id: 1\nname: Ada"
    assert query.splitlines()[-1] == "7"


@pytest.mark.parametrize("name", ["app.zip", "app.sqlite", "notes.ipynb"])
def test_what_is_not_shown_line_by_line_has_no_anchors(journey: Journey, name: str) -> None:
    journey.home.use_settings(richFiles={"enabled": True}, edit={"variant": "hashline"})
    if name == "app.zip":
        with zipfile.ZipFile(journey.home.cwd / name, "w") as archive:
            archive.writestr("inner/f", "text")
    elif name == "app.sqlite":
        with sqlite3.connect(journey.home.cwd / name) as database:
            database.execute("create table users(id integer)")
        database.close()
    else:
        cell = {"cell_type": "markdown", "metadata": {}, "source": ["Title"]}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        journey.home.write_work(name, json.dumps(notebook))
    journey.model.calls("read", path=name)
    assert journey.pi("-p", "look").code == 0

    assert f"[{name}#" not in journey.model.results_of()[0]


def test_a_file_with_conflicts_keeps_its_anchors(journey: Journey) -> None:
    journey.home.use_settings(richFiles={"enabled": True}, edit={"variant": "hashline"})
    journey.home.write_work("c.txt", CONFLICT)
    journey.model.calls("read", path="c.txt")
    journey.model.calls("write", path="conflict://1", content="@ours")
    assert journey.pi("-p", "look").code == 0

    text, _ = journey.model.results_of()
    head, first, second, *_ = text.splitlines()
    assert head.startswith("[c.txt#")
    assert (first[:2], first[-2:], second[-13:]) == ("1:", "|a", "|<<<<<<< HEAD")
    assert "[Merge conflicts: conflict://1 (line 2)." in text
    assert (journey.home.cwd / "c.txt").read_text() == "a\nx\nz\n"


def test_writes_that_name_no_member_or_no_row_say_what_is_wrong(journey: Journey) -> None:
    journey.home.use_settings(richFiles={"enabled": True})
    with sqlite3.connect(journey.home.cwd / "app.sqlite") as database:
        database.execute("create table users(name text)")
    database.close()
    journey.model.calls("write", path="new.zip", content="text")
    journey.model.calls("write", path="app.sqlite:users", content="nope")
    journey.model.calls("write", path="app.sqlite:users", content="{name: 'Ada'")
    assert journey.pi("-p", "write").code == 0

    archive, row, unclosed = journey.model.results_of()
    assert archive == "Archive write path must target a file inside the archive"
    assert not (journey.home.cwd / "new.zip").exists()
    assert row.startswith("The row is not valid JSON5")
    assert row.count("valid") == 1
    assert unclosed == "The row is not valid JSON5: Unclosed object starting near 1"


def test_a_sub_agent_reads_and_writes_archives_and_databases(journey: Journey) -> None:
    journey.home.use_settings(richFiles={"enabled": True}, task={"enabled": True})
    with zipfile.ZipFile(journey.home.cwd / "app.zip", "w") as archive:
        archive.writestr("inner/f", "text")
    with sqlite3.connect(journey.home.cwd / "app.sqlite") as database:
        database.execute("create table users(name text)")
    database.close()
    journey.model.script(
        Answer(calls=(("task", {"agent": "task", "name": "helper", "task": "Look."}),)),
        calls("read", path="app.zip:inner/f"),
        calls("write", path="app.zip:new", content="text"),
        calls("write", path="app.sqlite:users", content="{name: 'Ada'}"),
        calls("write", path="run.sh", content="#!/bin/sh\n"),
        calls("yield", data="done"),
    )
    assert journey.pi("-p", "delegate").code == 0

    assert journey.model.results_of(-2) == [
        "text",
        "Successfully wrote 4 bytes to app.zip:new",
        "Inserted row into users",
        "Successfully wrote to run.sh\nMade run.sh executable.",
    ]
