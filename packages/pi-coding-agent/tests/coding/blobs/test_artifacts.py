from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.blobs.artifacts import Artifact, Artifacts, TextFolder, copy_artifacts


def artifacts(directory: Path | None) -> Artifacts:
    return Artifacts(TextFolder(directory))


@pytest.mark.parametrize("in_memory", [True, False])
def test_artifacts_are_numbered_and_found_by_number(tmp_path: Path, in_memory: bool) -> None:
    stored = artifacts(None if in_memory else tmp_path / "s")

    assert [stored.save("bash", text) for text in ("one", "two")] == ["0", "1"]

    assert [stored.read(number) for number in (0, 1, 2)] == ["one", "two", None]
    assert stored.numbers() == [0, 1]
    assert stored.path(1) == (None if in_memory else tmp_path / "s" / "1.bash.log")


def test_a_resumed_session_continues_the_artifact_numbers(tmp_path: Path) -> None:
    directory = tmp_path / "s"
    directory.mkdir()
    for name in ("2.bash.log", "10.python.log", "99.txt", "x.bash.log", "Anna.md"):
        (directory / name).touch()

    assert artifacts(directory).save("bash", "x") == "11"


def test_a_fork_continues_the_numbers_of_the_copied_artifacts(tmp_path: Path) -> None:
    artifacts(tmp_path / "old").save("bash", "x")

    copy_artifacts(tmp_path / "old.jsonl", tmp_path / "new.jsonl")

    assert artifacts(tmp_path / "new").save("bash", "y") == "1"


def test_allocate_returns_a_path_without_creating_the_file(tmp_path: Path) -> None:
    stored = artifacts(tmp_path / "s")

    artifact = stored.allocate("bash")

    assert artifact == Artifact(id="0", path=tmp_path / "s" / "0.bash.log")
    assert not artifact.path.exists()
    assert stored.path(0) is None
    artifact.path.write_text("streamed")
    assert (stored.read(0), stored.save("bash", "next")) == ("streamed", "1")


def test_allocate_returns_none_without_a_usable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert artifacts(tmp_path / "file").allocate("bash") is None


def test_artifact_kinds_are_sanitised_to_file_names_inside_the_directory(tmp_path: Path) -> None:
    stored = artifacts(tmp_path / "s")

    for kind in ("../../x", "mcp:a/b.c", "", "ä"):
        stored.save(kind, "text")

    assert stored.folder.names() == [
        "0.______x.log",
        "1.mcp_a_b_c.log",
        "2.output.log",
        "3._.log",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
