from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.blobs.artifacts import TextFolder, artifact_directory, copy_artifacts
from tests.files import mode_of


def test_texts_are_private_files_and_the_first_write_creates_the_directory(tmp_path: Path) -> None:
    folder = TextFolder(tmp_path / "s")
    assert (folder.names(), folder.read("a"), folder.exists) == ([], None, False)

    folder.write("a", "one\r\n\ud800")
    folder.write("b", "two")

    assert folder.names() == ["a", "b"]
    assert folder.read("a") == "one\r\n?"
    assert TextFolder(tmp_path / "s").read("b") == "two"
    assert (mode_of(tmp_path / "s"), mode_of(tmp_path / "s" / "a")) == (0o700, 0o600)


def test_without_a_directory_texts_are_in_memory() -> None:
    folder = TextFolder(None)

    folder.write("a", "one")

    assert (folder.names(), folder.read("a"), folder.read("b")) == (["a"], "one", None)
    assert folder.exists
    assert folder.directory is None


def test_without_a_directory_files_are_in_a_private_temporary_one() -> None:
    folder = TextFolder(None)
    directory = folder.make()
    assert directory is not None
    (directory / "0.bash.log").write_text("output")
    mode, text = mode_of(directory), folder.read("0.bash.log")

    del folder

    assert (mode, text, directory.exists()) == (0o700, "output", False)


def test_texts_that_cannot_be_written_are_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    nowhere, partly = TextFolder(tmp_path / "file"), TextFolder(tmp_path / "s")
    (tmp_path / "s" / "a").mkdir(parents=True)

    for folder in (nowhere, partly):
        folder.write("a", "one")

    assert (nowhere.read("a"), nowhere.names(), nowhere.exists) == ("one", ["a"], True)
    assert partly.read("a") == "one"
    assert "there is no place for artifacts" in caplog.text
    assert "an artifact is kept in memory" in caplog.text


def test_the_artifact_directory_is_named_after_the_session_file_and_differs_from_it() -> None:
    assert artifact_directory(Path("/s/2026_a.b.jsonl")) == Path("/s/2026_a.b")
    assert artifact_directory(Path("/s/mine")) == Path("/s/mine.artifacts")


def test_a_fork_gets_its_own_copies(tmp_path: Path) -> None:
    TextFolder(tmp_path / "old").write("0.bash.log", "output")
    old, new = tmp_path / "old.jsonl", tmp_path / "forks" / "new.jsonl"

    copy_artifacts(old, new)
    TextFolder(tmp_path / "old").write("0.bash.log", "changed")

    assert TextFolder(artifact_directory(new)).read("0.bash.log") == "output"
    assert mode_of(tmp_path / "forks" / "new") == 0o700
    assert mode_of(tmp_path / "forks" / "new" / "0.bash.log") == 0o600


def test_copying_no_artifacts_does_nothing_and_a_failed_copy_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy_artifacts(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert list(tmp_path.iterdir()) == []

    TextFolder(tmp_path / "old").write("a", "text")
    (tmp_path / "file").touch()
    copy_artifacts(tmp_path / "old.jsonl", tmp_path / "file" / "new.jsonl")
    assert "were not copied" in caplog.text
