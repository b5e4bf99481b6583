from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from pi.ai.messages import Image, UserMessage
from pi.coding.runtime.session_manager import SessionManager
from pi.coding.runtime.session_places import session_catalog, session_location
from pi.coding.session.entries import BranchSummary, Label, MessageEntry, SessionInfo
from pi.coding.session.writing import session_directory
from pi.coding.settings.settings import Settings
from tests.coding.session.sessions import CWD, answer, make_location, user
from tests.files import put


def test_a_session_is_created_filled_and_reopened(tmp_path: Path) -> None:
    location = make_location(tmp_path)
    session = SessionManager.create(location, id="s", parent_session="/p.jsonl")
    first = session.append(user("1"))
    session.append(Label(target_id=first.id, label="here"))
    last = session.append(SessionInfo(name="mine"))
    session.close()
    path = session.get_session_file()
    assert path is not None

    again = SessionManager.open(path, location)

    assert again.get_entries() == session.get_entries() == again.get_branch()
    assert (again.get_leaf_entry(), again.get_leaf_id()) == (last, last.id)
    assert (again.get_entry(first.id), again.get_entry("nothing")) == (first, None)
    assert (again.get_label(first.id), again.get_label(last.id)) == ("here", None)
    assert (again.get_session_id(), again.get_session_name()) == ("s", "mine")
    assert (again.get_cwd(), again.get_session_dir()) == (CWD, tmp_path)
    assert again.get_header().parent_session == "/p.jsonl"
    assert [node.id for node in again.get_tree()] == [first.id]
    assert len(again.build_session_context().messages) == 1
    forked = SessionManager.fork_from(path, location)
    assert forked.get_entries() == again.get_entries()


def test_a_session_branches_with_and_without_a_summary() -> None:
    session = SessionManager.create(make_location(None))
    assert session.get_leaf_entry() is None
    first = session.append(user("1"))
    second = session.append(answer("2"))

    session.branch(first.id)
    third = session.append(answer("3"))
    notes = session.branch_with_summary(second.id, "what three said")
    session.reset_leaf()
    root = session.branch_with_summary(None, "nothing")

    assert third.parent_id == first.id
    assert notes == BranchSummary(
        id=notes.id,
        parent_id=second.id,
        timestamp=notes.timestamp,
        from_id=third.id,
        summary="what three said",
        from_hook=False,
    )
    assert isinstance(root, BranchSummary)
    assert (root.from_id, root.parent_id) == ("root", None)
    branched = session.create_branched_session(third.id)
    assert branched.get_entries() == [first, third]


class Folders:
    """A user's agent directory and a project, with nothing in them yet."""

    def __init__(self, tmp_path: Path) -> None:
        self.agent_dir, self.cwd = tmp_path / "agent", tmp_path / "project"
        self.cwd.mkdir()

    def usual(self) -> Path:
        """The default folder of the sessions of the project."""
        return session_directory(self.agent_dir, str(self.cwd))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    folders = Folders(tmp_path)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folders.agent_dir))
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR", raising=False)
    return folders


def kept(manager: SessionManager) -> Path:
    """The file of a session with one message, closed."""
    manager.append(user("1"))
    manager.close()
    path = manager.get_session_file()
    assert path is not None
    return path


def test_a_directory_suffices_to_create_list_and_find_sessions(folders: Folders) -> None:
    new = SessionManager.continue_recent(folders.cwd)
    path = kept(new)
    recent = SessionManager.continue_recent(str(folders.cwd))
    recent.close()
    opened = SessionManager.open(str(path))
    opened.close()

    assert path.parent == folders.usual()
    assert recent.get_session_id() == opened.get_session_id() == new.get_session_id()
    assert (opened.get_cwd(), opened.get_session_dir()) == (str(folders.cwd), path.parent)
    assert [session.path for session in SessionManager.list(folders.cwd)] == [path]
    assert SessionManager.list_all() == SessionManager.list(folders.cwd)
    assert SessionManager.list(folders.agent_dir) == []
    assert SessionManager.find_by_id(new.get_session_id(), folders.cwd) == path
    assert SessionManager.find_by_id("nothing", folders.cwd) is None


def test_the_current_directory_is_the_default(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders.cwd)
    path = kept(SessionManager.create(id="mine", parent_session="/p.jsonl"))

    assert path.parent == folders.usual()
    assert [session.summary.id for session in SessionManager.list()] == ["mine"]


def test_a_path_is_relative_to_the_current_directory(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders.cwd)
    path = kept(SessionManager.open("new.jsonl"))

    assert path == folders.cwd / "new.jsonl"
    assert SessionManager.open("new.jsonl").get_cwd() == str(folders.cwd)


@pytest.mark.parametrize("trusted", [False, True])
def test_the_session_folder_is_read_from_trusted_settings(
    folders: Folders, *, trusted: bool
) -> None:
    put(folders.agent_dir / "settings.json", '{"sessionDir": "kept"}')
    put(folders.cwd / ".pi/settings.json", '{"sessionDir": "theirs"}')
    put(folders.agent_dir / "trust.json", json.dumps({str(folders.cwd): trusted}))
    path = kept(SessionManager.create(folders.cwd))

    assert path.parent == folders.cwd / ("theirs" if trusted else "kept")
    assert [session.path for session in SessionManager.list(folders.cwd)] == [path]
    assert session_location(folders.cwd).directory == path.parent
    listed = session_catalog(cwd=folders.cwd).in_all_directories()
    assert [session.path for session in listed] == [path]


def test_an_argument_beats_the_variable_which_beats_the_settings(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folders.agent_dir / "settings.json", '{"sessionDir": "kept"}')
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", "variable")
    named = kept(SessionManager.create(folders.cwd))
    of_argument = kept(SessionManager.create(folders.cwd, folders.cwd / "argument"))
    other = kept(SessionManager.create(folders.cwd, agent_dir=folders.agent_dir.parent / "other"))
    settings = Settings.in_memory({"sessionDir": "memory"})

    assert [path.parent.name for path in (named, of_argument, other)] == [
        "variable",
        "argument",
        "variable",
    ]
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR")
    assert session_location(folders.cwd, settings=settings).directory == folders.cwd / "memory"


def test_a_fork_is_stored_for_the_given_directory(folders: Folders) -> None:
    path = kept(SessionManager.create(folders.cwd))
    other = folders.cwd / "other"
    other.mkdir()
    forked = SessionManager.fork_from(path, other)
    copy = kept(forked)

    assert forked.get_cwd() == str(other)
    assert forked.get_header().parent_session == str(path)
    assert copy.parent == session_directory(folders.agent_dir, str(other))


def test_externalized_images_are_restored_when_a_session_is_opened(folders: Folders) -> None:
    put(folders.agent_dir / "settings.json", '{"blobs": {"externalizeImages": true}}')
    picture = Image(data=b64encode(b"x" * 100_000).decode(), mime_type="image/png")
    manager = SessionManager.create(folders.cwd)
    manager.append(MessageEntry(message=UserMessage(content=(picture,))))
    path = kept(manager)
    again = SessionManager.open(path)
    again.close()

    assert len(path.read_bytes()) < 10_000
    message = again.build_session_context().messages[0]
    assert isinstance(message, UserMessage)
    assert message.content == (picture,)
