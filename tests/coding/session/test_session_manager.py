from __future__ import annotations

from pathlib import Path

from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.entries import BranchSummary, Label, SessionInfo
from pi.coding.session.session_manager import SessionManager
from tests.coding.session.kept import HERE, shelf
from tests.coding.session.sessions import CWD, answer, make_shelf, user


def test_a_session_is_made_filled_and_opened_again(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path)
    session = SessionManager.create(shelf, id="s", parent_session="/p.jsonl")
    first = session.append(user("1"))
    session.append(Label(target_id=first.id, label="here"))
    last = session.append(SessionInfo(name="mine"))
    session.close()
    path = session.get_session_file()
    assert path is not None

    again = SessionManager.open(path, shelf)

    assert again.get_entries() == session.get_entries() == again.get_branch()
    assert (again.get_leaf_entry(), again.get_leaf_id()) == (last, last.id)
    assert (again.get_entry(first.id), again.get_entry("nothing")) == (first, None)
    assert (again.get_label(first.id), again.get_label(last.id)) == ("here", None)
    assert (again.get_session_id(), again.get_session_name()) == ("s", "mine")
    assert (again.get_cwd(), again.get_session_dir()) == (CWD, tmp_path)
    assert again.get_header().parent_session == "/p.jsonl"
    assert [node.id for node in again.get_tree()] == [first.id]
    assert len(again.build_session_context().messages) == 1
    forked = SessionManager.fork_from(path, shelf)
    assert forked.get_entries() == again.get_entries()


def test_a_session_branches_with_and_without_a_summary() -> None:
    session = SessionManager.create(make_shelf(None))
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


def test_sessions_are_listed_and_the_last_one_goes_on(tmp_path: Path) -> None:
    catalog, place = SessionCatalog(tmp_path), shelf(tmp_path)
    new = SessionManager.continue_recent(catalog, place)
    new.append(user("1"))
    new.close()

    recent = SessionManager.continue_recent(catalog, place)
    recent.close()

    assert recent.get_session_id() == new.get_session_id()
    listed = SessionManager.list_sessions(catalog, HERE)
    assert [session.path for session in listed] == [new.get_session_file()]
    assert SessionManager.list_all(catalog) == listed
