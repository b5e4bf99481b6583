from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.batteries.timebox.adapters.claude_code import (
    State,
    load_state,
    save_state,
    state_file,
    tokens_used,
)
from pi.batteries.timebox.core.persist import Active, Off
from tests.batteries.timebox.core.budgets import budget

HELD = budget(time=900_000, turns=5, tokens=1000, cost=2.5)


def test_saved_state_is_loaded_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "not" / "there" / "yet.json"
    state = State(turns=3, records=(Off(12), Active(HELD)))

    save_state(file, state)

    assert load_state(file) == state
    assert [path.name for path in file.parent.iterdir()] == ["yet.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"turns": "3"}', '{"turns": 1, "records": {}}'])
def test_an_unusable_state_file_is_treated_as_missing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "state.json"
    file.write_text(text)

    assert load_state(file) == load_state(tmp_path / "none") == State()


def test_a_record_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(
        '{"turns": 2, "records": [{"kind": "paused"}, {"kind": "off", "disabledAt": 7}]}'
    )

    assert load_state(file) == State(turns=2, records=(Off(7),))


def test_a_session_id_cannot_escape_the_folder() -> None:
    folder = Path("/somewhere")

    assert state_file(folder, "2c9a-41").name == "2c9a-41.json"
    assert state_file(folder, "../../.ssh/config").parent == folder


def test_the_newest_record_has_the_budget_and_is_updated() -> None:
    nudged = budget(time=900_000, nudged=True)
    state = State(records=(Active(HELD),))

    assert state.budget == HELD
    assert state.with_budget(nudged) == State(records=(Active(nudged),))
    assert state.with_budget(None) == state
    off = State(records=(Active(HELD), Off(1)))
    assert (off.budget, off.with_budget(nudged)) == (None, off)
    assert State().budget is None


def test_the_tokens_of_a_message_are_counted_once(
    tmp_path: Path,
) -> None:
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 1000,
        "cache_read_input_tokens": 20_000,
        "output_tokens": 300,
        "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": 1000},
    }
    lines = [
        {"type": "user", "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "usage": usage}},
        {"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "usage": usage}},
        {"type": "assistant", "message": {"role": "assistant", "usage": {"output_tokens": 6}}},
        {"type": "assistant", "message": {"role": "assistant"}},
        {"type": "summary", "summary": "Hello"},
        [],
    ]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("\n".join(map(json.dumps, lines)) + '\n{"type": "assist')

    assert tokens_used(transcript) == 21_304 + 6


def test_a_transcript_that_is_not_there_has_no_tokens(tmp_path: Path) -> None:
    assert tokens_used(tmp_path / "none.jsonl") == tokens_used(tmp_path) == 0
