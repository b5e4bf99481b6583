from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.base.records import replace
from pi.cli.arguments import parse_arguments
from pi.cli.requested_session import OpenCancelled, SessionResolver
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.opening import SessionLocation
from tests.coding.session.saved import HERE, THERE, keep, location


class Chosen:
    """The session that a command line chooses, and the questions that were asked."""

    def __init__(
        self, agent_dir: Path, arguments: str, *, yes: bool = False, can_pick: bool = False
    ) -> None:
        self.reported: list[str] = []
        self.questions: list[str] = []

        def confirm(question: str) -> bool:
            self.questions.append(question)
            return yes

        self.choice = SessionResolver(
            parse_arguments(shlex.split(arguments)),
            {},
            agent_dir=agent_dir,
            confirm=confirm,
            can_pick=can_pick,
        )

    def on(self, target: SessionLocation) -> tuple[str, Path | None]:
        """Id and file of the session."""
        log = self.choice.open(replace(target, report=self.reported.append))
        log.close()
        return log.header.id, log.file


def test_without_options_a_new_session_begins(tmp_path: Path) -> None:
    old = keep(location(tmp_path), "x", id="old")

    _, file = Chosen(tmp_path, "").on(location(tmp_path))

    assert file != old


def test_continue_opens_the_latest_session_of_the_folder(tmp_path: Path) -> None:
    keep(location(tmp_path, seconds=1), "x", id="first")
    latest = keep(location(tmp_path, seconds=2), "x", id="second")
    keep(location(tmp_path, THERE, seconds=3), "x", id="elsewhere")

    assert Chosen(tmp_path, "--continue").on(location(tmp_path)) == ("second", latest)


def test_continue_without_a_stored_session_begins_a_new_one(tmp_path: Path) -> None:
    _, file = Chosen(tmp_path, "--continue").on(location(tmp_path))

    assert file is not None and not file.exists()


def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    file = keep(location(tmp_path), "x", id="abc")

    assert Chosen(tmp_path, "--session ab").on(location(tmp_path)) == ("abc", file)
    with pytest.raises(NoMatchingSession):
        Chosen(tmp_path, "--session zz").on(location(tmp_path))


def test_a_session_of_another_folder_is_forked_if_the_user_agrees(tmp_path: Path) -> None:
    file = keep(location(tmp_path, THERE), "x", id="abc")
    agreed = Chosen(tmp_path, "--session abc", yes=True)

    id, copy = agreed.on(location(tmp_path))

    assert id != "abc" and copy != file
    assert agreed.questions == [
        f"Session found in another project: {THERE}\n"
        "Fork this session into current directory? [y/N] "
    ]
    with pytest.raises(OpenCancelled):
        Chosen(tmp_path, "--session abc").on(location(tmp_path))


def test_a_fork_of_a_session_of_another_folder_is_stored_in_this_folder(tmp_path: Path) -> None:
    keep(location(tmp_path, THERE), "x", id="abc")

    id, file = Chosen(tmp_path, "--fork abc").on(location(tmp_path))

    assert id != "abc"
    assert file is not None and file.parent == location(tmp_path).directory


def test_an_exact_id_is_opened_or_begun(tmp_path: Path) -> None:
    file = keep(location(tmp_path), "x", id="abc")
    new = Chosen(tmp_path, "--session-id ab")

    assert Chosen(tmp_path, "--session-id abc").on(location(tmp_path)) == ("abc", file)
    assert new.on(location(tmp_path))[0] == "ab"
    assert new.reported == [
        "Warning: No project session found with id 'ab'; creating a new session with that id."
    ]


def test_sessions_are_searched_in_the_configured_directory(tmp_path: Path) -> None:
    stored_sessions = location(tmp_path, custom=tmp_path / "kept")
    file = keep(stored_sessions, "x", id="abc")

    assert Chosen(tmp_path, "--continue").on(stored_sessions) == ("abc", file)


@pytest.mark.parametrize("value", ["abc", "ab", "{file}"])
def test_resume_opens_the_session_that_its_value_names(tmp_path: Path, value: str) -> None:
    file = keep(location(tmp_path), "x", id="abc")
    chosen = Chosen(tmp_path, f"--resume {value.format(file=file)}", can_pick=True)

    assert chosen.on(location(tmp_path)) == ("abc", file)
    assert not chosen.choice.must_pick


@pytest.mark.parametrize(
    "value", ["zzz", "'fix src/x.py'", "~unknown/x", "no.jsonl", f"/{'x' * 300}", ""]
)
def test_resume_without_a_match_opens_the_session_picker(tmp_path: Path, value: str) -> None:
    old = keep(location(tmp_path), "x", id="abc")
    chosen = Chosen(tmp_path, f"--resume {value}", can_pick=True)

    assert chosen.on(location(tmp_path))[1] != old
    assert chosen.choice.must_pick
    if value:
        with pytest.raises(NoMatchingSession, match="No session found matching"):
            Chosen(tmp_path, f"--resume {value}").on(location(tmp_path))


def test_resume_of_a_session_of_another_folder_asks_before_it_is_forked(tmp_path: Path) -> None:
    keep(location(tmp_path, THERE), "x", id="abc")
    forked = Chosen(tmp_path, "--resume abc", yes=True, can_pick=True)

    assert forked.on(location(tmp_path))[0] != "abc"
    assert "Fork this session into current directory?" in forked.questions[0]
    with pytest.raises(OpenCancelled):
        Chosen(tmp_path, "--resume abc", can_pick=True).on(location(tmp_path))


@pytest.mark.parametrize(
    "flag", ["--continue", "--session abc", "--session-id abc", "--resume abc", "--resume"]
)
def test_without_saved_sessions_options_to_open_one_are_rejected(tmp_path: Path, flag: str) -> None:
    with pytest.raises(PiError, match="needs saved sessions"):
        Chosen(tmp_path, flag).on(SessionLocation(None, HERE, pytest.fail))
