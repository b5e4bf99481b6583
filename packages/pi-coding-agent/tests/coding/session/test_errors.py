from __future__ import annotations

from pathlib import Path

from pi.coding.session.errors import SessionInUse, SessionNotFound


def test_the_error_names_the_process_that_has_the_session_open_if_known() -> None:
    path = Path("/s.jsonl")

    assert SessionInUse(path, 12).explain() == (
        "The session /s.jsonl is open in process 12. Close it there, or open a fork of it."
    )
    assert "in another process." in SessionInUse(path, None).message


def test_a_missing_session_is_named() -> None:
    assert SessionNotFound(Path("/s.jsonl")).message == "File not found: /s.jsonl"
