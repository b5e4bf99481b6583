from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batch.tasks import (
    BatchProblem,
    BatchTask,
    check_tasks,
    file_names,
    is_url,
    parse_tasks,
    read_tasks,
    select_tasks,
)

HERE = Path("/tasks")


def test_invalid_lines_are_reported_and_the_other_lines_are_tasks() -> None:
    lines = [
        '{"id": "a", "prompt": "p"}',
        "{nonsense",
        "",
        '{"id": "a", "prompt": "again"}',
        '{"id": "b"}',
        '{"id": "", "prompt": "p"}',
        '{"id": "c", "prompt": "p", "cwd": "x", "repo": "y"}',
        '{"id": "d", "prompt": "p", "base_commit": "abc"}',
        '{"id": "e", "prompt": "p", "repo": "r", "base_commit": "--upload-pack=x"}',
        '{"id": "f", "prompt": "p", "budget": -1}',
        '["id"]',
        '{"id": "g", "prompt": "p"}',
    ]

    found = parse_tasks("\r\n".join(lines).encode(), HERE)

    assert [task.id for task in found.tasks] == ["a", "g"]
    assert [bad.line for bad in found.unreadable] == [2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert "is that of line 1 already" in found.unreadable[1].reason
    assert "prompt" in found.unreadable[2].reason


def test_relative_paths_are_resolved_against_the_folder_of_the_task_file() -> None:
    line = b'{"id":"a","prompt":"p","cwd":"x"}\n{"id":"b","prompt":"p","repo":"../r"}'

    first, second = parse_tasks(b"\xef\xbb\xbf" + line, HERE).tasks

    assert (first.cwd, second.repo) == ("/tasks/x", "/tasks/../r")


@pytest.mark.parametrize(
    ("repo", "url"),
    [
        ("https://host/x.git", True),
        ("ssh://git@host/x", True),
        ("git@host:owner/x.git", True),
        ("host:x", True),
        ("file:///x", True),
        ("../x", False),
        ("/x", False),
        ("x", False),
        ("./a:b", False),
        ("-x", False),
    ],
)
def test_repository_urls_are_distinguished_from_paths(repo: str, *, url: bool) -> None:
    assert is_url(repo) is url


def test_an_empty_file_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"\n \n")

    with pytest.raises(BatchProblem, match="has no tasks"):
        read_tasks(tmp_path / "empty")
    with pytest.raises(BatchProblem, match="There is no file"):
        read_tasks(tmp_path / "missing")


def tasks(*ids: str) -> list[BatchTask]:
    return [BatchTask(id=id, prompt="p") for id in ids]


def test_tasks_are_filtered_then_shuffled_then_sliced() -> None:
    many = tasks(*(f"{kind}{number}" for number in range(20) for kind in "ab"))

    chosen = select_tasks(many, matching="^a", shuffle=7, part=":5")

    assert len(chosen) == 5
    assert all(task.id.startswith("a") for task in chosen)
    assert chosen == select_tasks(many, matching="^a", shuffle=7, part="0:5")
    assert chosen != select_tasks(many, matching="^a", shuffle=8, part="0:5")
    assert select_tasks(many, part="-2:") == many[-2:]


@pytest.mark.parametrize("part", ["5", "a:b", "-:", "1:2:3", ""])
def test_a_wrong_slice_is_refused(part: str) -> None:
    with pytest.raises(BatchProblem, match="not a range"):
        select_tasks([], part=part)


def test_a_wrong_pattern_is_refused() -> None:
    with pytest.raises(BatchProblem, match="not a pattern"):
        select_tasks([], matching="(")


def test_check_tasks_raises_an_error_for_the_first_invalid_task() -> None:
    with pytest.raises(BatchProblem, match="prompt"):
        check_tasks([{"id": "a"}])
    with pytest.raises(BatchProblem, match="another task"):
        check_tasks([{"id": "a", "prompt": "p"}, BatchTask(id="a", prompt="p")])


@given(st.lists(st.text(min_size=1, max_size=20), unique=True))
def test_file_names_are_unique_and_safe(ids: list[str]) -> None:
    names = file_names(ids)

    assert len({name.lower() for name in names.values()}) == len(ids)
    assert all(name == Path(name).name and name[0] not in ".-" for name in names.values())


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_without_an_error(data: bytes) -> None:
    found = parse_tasks(data, HERE)

    assert len(found.tasks) + len(found.unreadable) <= data.count(b"\n") + 1


@given(st.text(max_size=50), st.text(min_size=1, max_size=50))
def test_an_encoded_task_is_read_back(prompt: str, id: str) -> None:
    line = json.dumps({"id": id, "prompt": prompt, "other": [1]}).encode()

    assert [(task.id, task.prompt) for task in parse_tasks(line, HERE).tasks] == [(id, prompt)]
