"""The file of token ids beside a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.request import TokenIds
from pi.coding.blobs.artifacts import artifact_directory
from pi.coding.session.token_ids import FILE, TokenIdFile, read_token_ids


def turn(number: int) -> TokenIds:
    """The ids of an answer; the prompt of each contains those before."""
    prompt = list(range(3 * number + 3))
    return TokenIds(
        response_id=f"r{number}", prompt=prompt, completion=[len(prompt)], logprobs=[-0.5]
    )


def test_each_answer_has_its_whole_prompt(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    file = TokenIdFile(session)
    for number in range(3):
        file.append(turn(number))

    assert read_token_ids(session) == {f"r{number}": turn(number) for number in range(3)}


@pytest.mark.parametrize("lost", [1, 10])
def test_only_the_row_that_a_crash_cut_is_lost(tmp_path: Path, lost: int) -> None:
    session = tmp_path / "session.jsonl"
    first = TokenIdFile(session)
    first.append(turn(0))
    first.append(turn(1))
    rows = artifact_directory(session) / FILE
    rows.write_bytes(rows.read_bytes()[:-lost])

    resumed = TokenIdFile(session)
    resumed.append(turn(2))
    resumed.append(turn(3))

    expected = (0, 2, 3) if lost > 1 else (0, 1, 2, 3)
    assert read_token_ids(session) == {f"r{number}": turn(number) for number in expected}


def test_rows_after_a_damaged_one_are_not_put_together_wrongly(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    file = TokenIdFile(session)
    for number in range(3):
        file.append(turn(number))
    rows = artifact_directory(session) / FILE
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join((lines[0], b"damaged\n", lines[2])))

    assert read_token_ids(session) == {"r0": turn(0)}
