from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.drafts import Drafts


def drafts(tmp_path: Path, name: str, cwd: str = "/project") -> Drafts:
    return Drafts(tmp_path, Path(cwd), name=name)


def test_a_draft_of_an_ended_program_is_recovered_once(tmp_path: Path) -> None:
    gone = drafts(tmp_path, "a")
    gone.save("half a thought")
    gone.close(keep=True)

    recovered = drafts(tmp_path, "b")
    assert recovered.recover() == "half a thought"
    assert drafts(tmp_path, "c").recover() is None
    recovered.close()


def test_a_draft_of_a_running_program_is_not_recovered(tmp_path: Path) -> None:
    living = drafts(tmp_path, "a")
    living.save("mine")

    assert drafts(tmp_path, "b").recover() is None
    living.close()


def test_drafts_of_other_folders_are_not_recovered(tmp_path: Path) -> None:
    in_another_place = drafts(tmp_path, "a", "/other")
    in_another_place.save("theirs")
    in_another_place.close(keep=True)

    assert drafts(tmp_path, "b").recover() is None


def test_no_draft_file_is_left_after_the_text_was_sent(tmp_path: Path) -> None:
    own = drafts(tmp_path, "a")
    own.save("text")
    own.save("")
    own.close()

    assert list((tmp_path / "drafts").iterdir()) == []


def test_a_draft_file_is_private(tmp_path: Path) -> None:
    own = drafts(tmp_path, "a")
    own.save("secret")

    [path] = (tmp_path / "drafts").glob("*.txt")
    assert path.stat().st_mode & 0o077 == 0
    own.close()


def test_an_unwritable_drafts_folder_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "drafts").write_text("a file where a folder should be")
    own = drafts(tmp_path, "a")

    own.save("text")
    assert own.recover() is None
    own.close()
