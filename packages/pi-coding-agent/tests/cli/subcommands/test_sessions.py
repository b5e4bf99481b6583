from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi.cli.main import main
from tests.coding.session.saved import keep, location

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home with three sessions of this folder and one of another folder, with short ids."""
    monkeypatch.chdir(tmp_path)
    agent_dir, cwd = tmp_path / ".pi" / "agent", str(tmp_path)
    keep(location(agent_dir, cwd, seconds=1), "fix the tests", id="aaa-1")
    keep(location(agent_dir, cwd, seconds=2), "write\x1b[31m docs", "about sharks", id="aab-2")
    keep(location(agent_dir, cwd, seconds=3), "x" * 100, id="b-3", name="long talk")
    keep(location(agent_dir, "/elsewhere", seconds=4), "other things", id="c-4")
    return {"HOME": str(tmp_path), "PATH": os.defpath, "TZ": "UTC"}


def out(capsys: Captured, environ: dict[str, str], *arguments: str) -> list[str]:
    assert main(["sessions", *arguments], environ) == 0
    return capsys.readouterr().out.splitlines()


def err(capsys: Captured, environ: dict[str, str], *arguments: str) -> str:
    assert main(["sessions", *arguments], environ) == 1
    return capsys.readouterr().err


def test_the_sessions_of_this_folder_are_listed_latest_first(
    environ: dict[str, str], capsys: Captured
) -> None:
    lines = [line.split(maxsplit=4) for line in out(capsys, environ)]

    assert [(id, count, title) for id, _, _, count, title in lines] == [
        ("b-3", "1", "long talk"),
        ("aab-2", "2", "write docs"),
        ("aaa-1", "1", "fix the tests"),
    ]


def test_of_sessions_with_the_same_id_that_of_this_folder_is_used(
    environ: dict[str, str], capsys: Captured
) -> None:
    agent_dir = Path(environ["HOME"]) / ".pi" / "agent"
    keep(location(agent_dir, "/elsewhere", seconds=5), "a namesake", id="b-3")
    first = keep(location(agent_dir, "/elsewhere", seconds=6), "there", id="d-5")
    second = keep(location(agent_dir, "/another", seconds=7), "and there", id="d-5")

    assert out(capsys, environ, "rename", "b-3", "mine") == ["Renamed b-3 to mine"]
    assert out(capsys, environ)[0].endswith("  mine")
    assert err(capsys, environ, "delete", "d-5") == (
        f"Error: 2 sessions begin with 'd-5'.\nUse a longer prefix: {second}, {first}\n"
    )
    assert out(capsys, environ, "delete", str(first)) == ["Moved to the trash: there"]
    assert (first.exists(), second.exists()) == (False, True)


def test_sessions_of_all_folders_are_listed_with_their_folder(
    environ: dict[str, str], capsys: Captured
) -> None:
    lines = out(capsys, environ, "--all")

    assert len(lines) == 4
    assert "  /elsewhere  other things" in lines[0]


def test_a_search_finds_sessions_by_title_or_message_text(
    environ: dict[str, str], capsys: Captured
) -> None:
    (title,) = out(capsys, environ, "docs")
    (match,) = out(capsys, environ, "--texts", "sharks")

    assert title.endswith("write docs")
    assert match.endswith("about sharks")


def test_no_matching_session_is_reported_and_exits_with_0(
    environ: dict[str, str], capsys: Captured
) -> None:
    cwd = environ["HOME"]

    assert out(capsys, environ, "zzzzz") == [
        f'No sessions matching "zzzzz" in {cwd}; --all searches all folders'
    ]
    assert out(capsys, environ, "--all", "zzzzz") == ['No sessions matching "zzzzz" anywhere']


def test_json_output_has_one_session_per_line(environ: dict[str, str], capsys: Captured) -> None:
    first, *_ = map(json.loads, out(capsys, environ, "--json"))

    assert first.pop("path").endswith("_b-3.jsonl")
    assert first == {
        "id": "b-3",
        "cwd": environ["HOME"],
        "name": "long talk",
        "firstMessage": "x" * 100,
        "messageCount": 1,
        "created": "2023-11-14T22:13:23.000Z",
        "lastActive": "2023-11-14T22:13:23.000Z",
        "excerpt": None,
    }


def test_a_session_is_renamed_by_the_beginning_of_its_id(
    environ: dict[str, str], capsys: Captured
) -> None:
    assert out(capsys, environ, "rename", "aaa", "green", "tests") == [
        "Renamed aaa-1 to green tests"
    ]

    assert any(line.endswith("green tests") for line in out(capsys, environ))


def test_a_session_is_moved_to_another_folder(environ: dict[str, str], capsys: Captured) -> None:
    there = Path(environ["HOME"]) / "there"
    assert err(capsys, environ, "move", "b-3", "there").startswith(
        f"Error: {there} is not a folder."
    )
    there.mkdir()

    assert out(capsys, environ, "move", "b-3", "there") == [f"Moved b-3 to {there}"]
    assert len(out(capsys, environ)) == 2
    [line] = [line for line in out(capsys, environ, "--all") if line.startswith("b-3 ")]
    assert str(there) in line


def test_a_deleted_session_goes_to_the_trash(environ: dict[str, str], capsys: Captured) -> None:
    assert out(capsys, environ, "delete", "aab-2") == ["Moved to the trash: write docs"]

    assert len(out(capsys, environ)) == 2
    assert list(Path(environ["HOME"]).rglob("*aab-2*"))


def test_a_session_of_any_folder_is_exported(environ: dict[str, str], capsys: Captured) -> None:
    target = Path(environ["HOME"]) / "talk.txt"

    assert out(capsys, environ, "export", "c-4", "talk.txt") == [f"Exported to: {target}"]
    assert "other things" in target.read_text()


def test_the_wrong_session_is_never_changed(environ: dict[str, str], capsys: Captured) -> None:
    assert err(capsys, environ, "delete", "aa") == (
        "Error: 2 sessions begin with 'aa'.\nUse a longer prefix: aab-2, aaa-1\n"
    )
    assert err(capsys, environ, "delete", "zz") == "Error: No session found matching 'zz'\n"


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["rename"], "an id and a name"),
        (["rename", "b-3"], "an id and a name"),
        (["move", "b-3"], "an id and a folder"),
        (["delete"], "an id"),
        (["export"], "an id"),
    ],
)
def test_missing_arguments_are_named(
    environ: dict[str, str], capsys: Captured, arguments: list[str], missing: str
) -> None:
    message = f"Error: `pi sessions {arguments[0]}` needs {missing}\nSee `pi sessions -h`.\n"

    assert err(capsys, environ, *arguments) == message


def test_a_blank_name_is_refused(environ: dict[str, str], capsys: Captured) -> None:
    assert err(capsys, environ, "rename", "b-3", " ") == "Error: The name must not be blank.\n"
