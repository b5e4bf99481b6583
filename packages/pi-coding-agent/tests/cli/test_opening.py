from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.version import __version__
from tests.cli.program import Program, known
from tests.screens.terminal_user import TOUR, needs_pty, terminal_user
from tests.stories.loopback_model import loopback_model

pytestmark = needs_pty


@pytest.mark.full
def test_a_newer_version_is_reported_on_the_screen(tmp_path: Path) -> None:
    cli = known(tmp_path)
    far = {"latest": "99.0", "askedMs": 0, "nextMs": 1 << 52}
    cli.write("update-check.json", json.dumps(far))
    with terminal_user(cli) as ada:
        ada.sees(f"pi 99.0 is available; this is {__version__}.")


def test_the_message_of_the_command_line_is_sent_at_once(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, "hello there") as ada:
        ada.sees("hello there")
        ada.sees("This is a guided tour")
        ada.sees("That was the tour")
        assert ada.leaves() == 0
        assert "To resume this session: pi --session" in ada.tape


@pytest.mark.full
@pytest.mark.behaviour("failed-writes-are-reported")
def test_quitting_an_unsaved_session_prints_a_warning(tmp_path: Path) -> None:
    cli = known(tmp_path)
    (cli.agent_dir / "sessions").touch()
    with terminal_user(cli, *TOUR, "hello there") as ada:
        ada.sees("The session is no longer saved")
        ada.sees("That was the tour")
        assert ada.leaves() == 0
        assert "The session could not be saved completely." in ada.tape
        assert "To resume this session" not in ada.tape


@pytest.mark.full
def test_loaded_context_files_are_reported(tmp_path: Path) -> None:
    cli = known(tmp_path)
    cli.write("AGENTS.md", "Be kind.")
    with terminal_user(cli) as ada:
        ada.sees("AGENTS.md · /help for commands")
        assert ada.leaves() == 0


def test_the_first_rows_name_version_model_and_folder(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with terminal_user(cli, *TOUR) as ada:
        ada.sees(f"pi {__version__} · demo/tour")
        ada.sees("/work")  # on the next row if it is long
        assert ada.leaves() == 0


@pytest.mark.full
def test_resume_opens_the_list_of_sessions(tmp_path: Path) -> None:
    with terminal_user(known(tmp_path), "--resume") as ada:
        ada.sees("Resume")
        ada.types("\x1b")
        ada.types("\x04")


def test_resume_with_a_value_opens_the_session_that_it_names(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with terminal_user(cli, *TOUR, "hello there") as ada:
        ada.sees("That was the tour")
        assert ada.leaves() == 0
    id = cli.sessions()[0][0]["id"]
    with terminal_user(cli, *TOUR, "-r", id[:10]) as ada:
        ada.sees("hello there")
        ada.sees("(demo) tour")
        assert ada.leaves() == 0
    assert len(cli.sessions()) == 1
    assert prompts_of(cli.sessions()[0]) == ["hello there"]


def test_resume_with_a_message_sends_it_to_the_picked_session(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with terminal_user(cli, *TOUR, "hello there") as ada:
        ada.sees("That was the tour")
        assert ada.leaves() == 0
    with terminal_user(cli, *TOUR, "-r", "go on please") as ada:
        ada.sees("Resume")
        ada.until(lambda: "hello there" in ada.screen)
        assert prompts_of(cli.sessions()[0]) == ["hello there"]
        ada.types("\r")
        ada.sees("go on please")
        ada.until(lambda: ada.tape.count("That was the tour") == 2)
        assert ada.leaves() == 0
    assert [prompts_of(session) for session in cli.sessions()] == [["hello there", "go on please"]]


@pytest.mark.full
def test_resume_with_a_message_and_nothing_picked_keeps_the_message_in_the_editor(
    tmp_path: Path,
) -> None:
    cli = known(tmp_path)
    with terminal_user(cli, *TOUR, "hello there") as ada:
        ada.sees("That was the tour")
        assert ada.leaves() == 0
    with terminal_user(cli, *TOUR, "-r", "go on please") as ada:
        ada.until(lambda: "hello there" in ada.screen)
        ada.types("\x1b")
        ada.sees("go on please")
        ada.types("\x03")
        assert ada.leaves() == 0
    assert [prompts_of(session) for session in cli.sessions()] == [["hello there"]]


def test_options_apply_to_the_picked_session(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with loopback_model() as server:
        with_two_models(cli, server.url)
        assert cli.run("-p", "--model", "here/one", "hello there").code == 0
        with terminal_user(cli, "--model", "here/two:low", "-n", "Named", "-r", "go on") as ada:
            ada.sees("Resume")
            ada.until(lambda: "hello there" in ada.screen)
            ada.types("\r")
            ada.until(lambda: len(server.requests) == 2)
            ada.sees("All is well.")
            assert ada.leaves() == 0
    first, second = map(json.loads, server.requests)
    assert (first["model"], second["model"]) == ("one", "two")
    assert second["reasoning_effort"] == "low"
    (session,) = cli.sessions()
    assert [line["name"] for line in session if line["type"] == "session_info"] == ["Named"]


def test_every_message_of_the_command_line_is_a_prompt_of_its_own(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with loopback_model() as server:
        with_two_models(cli, server.url)
        with terminal_user(cli, "--model", "here/one", "ask this", "then that") as ada:
            ada.sees("then that")
            ada.until(lambda: ada.tape.count("All is well.") >= 2)
            assert ada.leaves() == 0
    roles = [[m["role"] for m in json.loads(body)["messages"]] for body in server.requests]
    assert roles == [["system", "user"], ["system", "user", "assistant", "user"]]


def with_two_models(cli: Program, url: str) -> None:
    """Configures a server with a plain model and one that thinks."""
    models = [{"id": "one"}, {"id": "two", "reasoning": True}]
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "k", "models": models}
    cli.write("models.json", json.dumps({"providers": {"here": provider}}))


def prompts_of(session: list[Any]) -> list[str]:
    """The prompts in a session file."""
    messages = [line["message"] for line in session if line["type"] == "message"]
    return [m["content"][0]["text"] for m in messages if m["role"] == "user"]


@pytest.mark.full
def test_a_session_that_another_process_has_open_can_be_forked(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with terminal_user(cli, *TOUR, "hello there") as ada:
        ada.sees("That was the tour")
        with terminal_user(cli, *TOUR, "--continue") as bob:
            bob.sees("Open a fork of the session?")
            bob.types("\r")
            bob.sees("That was the tour")
            assert (bob.leaves(), ada.leaves()) == (0, 0)
    files = list((cli.agent_dir / "sessions").rglob("*.jsonl"))
    assert len(files) == 2


@pytest.mark.full
@pytest.mark.behaviour("missing-directory-on-resume")
def test_a_session_whose_folder_is_gone_can_be_continued_here(tmp_path: Path) -> None:
    cli = known(tmp_path)
    gone = {"type": "session", "version": 3, "id": "1", "timestamp": "2026", "cwd": "/gone/away"}
    file = tmp_path / "kept.jsonl"
    file.write_text(json.dumps(gone) + "\n")
    with terminal_user(cli, *TOUR, "--session", str(file)) as ada:
        ada.sees("/gone/away no longer exists. Continue in")
        ada.types("\r")
        ada.sees("(demo) tour")
        ada.types("!pwd\r")
        ada.sees(cli.cwd.name)
        assert ada.leaves() == 0
    with terminal_user(cli, *TOUR, "--session", str(file)) as ada:
        ada.sees("/gone/away no longer exists. Continue in")
        ada.types("\x1b")
        assert ada.ends() == 0


@pytest.mark.full
def test_verbose_start_reports_everything_that_was_loaded(tmp_path: Path) -> None:
    with terminal_user(known(tmp_path), "--verbose", columns=40, rows=60) as ada:
        ada.sees(f"pi {__version__}")
        ada.sees("no model: /login")
        report = ada.screen.replace("\n ", "")
        assert str(tmp_path / "work") in report
        assert ".jsonl" in report
        assert ada.leaves() == 0
