from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.file_lists import FileLists, file_blocks, file_lists, file_operations
from tests.agent.compaction.conversations import answer, call, result, shown


def test_reads_and_changes_are_listed_separately_and_a_changed_file_is_not_also_read() -> None:
    items = [
        answer(
            "1",
            "",
            call("1", "read", path="a.py"),
            call("2", "read", path="b.py"),
            call("3", "edit", path="b.py"),
            call("4", "write", file_path="c.py"),
            call("5", "bash", path="d.py"),
        )
    ]

    assert file_operations(items) == FileLists(
        read_files=("a.py",), modified_files=("b.py", "c.py")
    )


@pytest.mark.behaviour("file-lists-are-deduplicated")
def test_files_are_listed_once_by_base_path_and_urls_never() -> None:
    paths = [
        "a.py",
        "./a.py",
        "a.py:10-20",
        "a.py:7",
        "a.py:1-2,5+3",
        "notes#3",
        "a.py#L3",
        "b//c.py",
        "https://x/y",
        "skill://z",
    ]
    items = [answer("1", "", *(call(path, "read", path=path) for path in paths))]

    assert file_operations(items) == FileLists(read_files=("notes#3", "a.py", "b/c.py"))


@pytest.mark.parametrize("path", ["", "  ", 7, None, ["a"], "a\nb"])
def test_an_invalid_path_is_ignored(path: object) -> None:
    assert file_operations([answer("1", "", call("1", "read", path=path))]) == FileLists()


def test_a_failed_call_is_not_counted_as_a_file_operation() -> None:
    items = [
        answer("1", "", call("1", "edit", path="a"), call("2", "edit", path="b")),
        result("2", "1", "not found", is_error=True),
        result("3", "2"),
    ]

    assert file_operations(items) == FileLists(modified_files=("b",))


def test_the_lists_of_earlier_summaries_are_carried_on() -> None:
    earlier = FileLists(read_files=("old", "x"), modified_files=("m",))
    summary = shown("1", "branchSummary", "…", {"readFiles": ["m", "n"], "modifiedFiles": ["x"]})
    items = [summary, answer("2", "", call("1", "read", path="old"))]

    assert file_operations(items, earlier) == FileLists(
        read_files=("n", "old"), modified_files=("m", "x")
    )


def test_lists_of_another_shape_count_as_empty() -> None:
    assert file_lists({"readFiles": "a", "modifiedFiles": [1, "b"]}) == FileLists(
        modified_files=("b",)
    )


def test_each_file_list_is_a_block_and_an_empty_list_has_no_block() -> None:
    files = FileLists(read_files=("a.txt",), modified_files=("b", "c"))

    assert file_blocks(files, 1000) == (
        "<read-files>\na.txt\n</read-files>\n<modified-files>\nb\nc\n</modified-files>"
    )
    assert file_blocks(FileLists(read_files=("a.txt",)), 1000) == (
        "<read-files>\na.txt\n</read-files>"
    )
    assert file_blocks(FileLists(), 1000) == ""


def test_changed_and_newest_files_are_shown_when_not_all_fit() -> None:
    files = FileLists(
        read_files=("r1", "r2"), modified_files=("the oldest of all", "older", "newest")
    )

    assert file_blocks(files, 64) == (
        "<modified-files>\nolder\nnewest\n... and 1 more\n</modified-files>"
    )


@given(
    files=st.builds(
        FileLists,
        read_files=st.lists(st.text(st.characters(categories=["L"]), min_size=1)).map(tuple),
        modified_files=st.lists(st.text(st.characters(categories=["L"]), min_size=1)).map(tuple),
    ),
    most=st.integers(-10, 300),
)
def test_the_file_blocks_never_exceed_their_limit(files: FileLists, most: int) -> None:
    assert len(file_blocks(files, most)) <= max(most, 0)
