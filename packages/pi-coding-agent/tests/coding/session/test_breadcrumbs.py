from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pi.coding.session.breadcrumbs import (
    FOLDER,
    KEPT_DAYS,
    Breadcrumb,
    find_breadcrumb,
    leave_breadcrumb,
    terminal_key,
)
from pi.testing import FakeClock

CRUMB = Breadcrumb(cwd="/x", session="/s/a.jsonl")


def test_a_terminal_finds_only_its_own_last_session(tmp_path: Path) -> None:
    leave_breadcrumb(tmp_path, "mine", Breadcrumb(cwd="/x", session="/s/old"), FakeClock())
    leave_breadcrumb(tmp_path, "mine", CRUMB, FakeClock())

    assert find_breadcrumb(tmp_path, "mine") == CRUMB
    assert find_breadcrumb(tmp_path, "other") is None
    assert stat.S_IMODE((tmp_path / FOLDER / "mine.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700


DEEP = pytest.param(b'{"a":' * 100_000, id="nested too deeply")


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", DEEP])
def test_a_damaged_breadcrumb_is_ignored(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "mine.json").write_bytes(damage)

    assert find_breadcrumb(tmp_path, "mine") is None


def test_a_breadcrumb_that_cannot_be_written_is_skipped(tmp_path: Path) -> None:
    (tmp_path / FOLDER).touch()

    leave_breadcrumb(tmp_path, "mine", CRUMB, FakeClock())

    assert find_breadcrumb(tmp_path, "mine") is None


def test_a_folder_name_that_is_not_text_leaves_no_breadcrumb(tmp_path: Path) -> None:
    leave_breadcrumb(tmp_path, "mine", Breadcrumb(cwd="/\udcff", session="/s"), FakeClock())

    assert find_breadcrumb(tmp_path, "mine") is None


def test_breadcrumbs_of_long_closed_terminals_are_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    for days, key in ((KEPT_DAYS + 1, "old"), (KEPT_DAYS - 1, "recent")):
        leave_breadcrumb(tmp_path, key, CRUMB, FakeClock(0))
        long_ago = clock.now_ms() / 1000 - days * 24 * 3600
        os.utime(tmp_path / FOLDER / f"{key}.json", (long_ago, long_ago))

    leave_breadcrumb(tmp_path, "new", CRUMB, clock)

    assert sorted(path.stem for path in (tmp_path / FOLDER).iterdir()) == ["new", "recent"]


def key(
    environ: dict[str, str] | None = None, tty: str | None = None, shell: int = 1
) -> str | None:
    return terminal_key(environ or {}, tty=tty, shell_pid=shell)


def test_the_key_of_a_terminal_does_not_depend_on_its_processes() -> None:
    pane = {"TMUX_PANE": "%1", "TMUX": "/tmp/tmux,1,0"}

    assert key(pane, "/dev/pts/1", 1) == key(pane, "/dev/pts/9", 2)
    assert key({"TERM_SESSION_ID": "w0"}, shell=1) == key({"TERM_SESSION_ID": "w0"}, shell=2)
    assert key(tty="/dev/pts/1") == key(tty="/dev/pts/1")


def test_every_terminal_has_its_own_key() -> None:
    names = [
        key({"TMUX_PANE": "%1", "TMUX": "one"}),
        key({"TMUX_PANE": "%1", "TMUX": "two"}),
        key({"TMUX_PANE": "%2", "TMUX": "one"}),
        key({"KITTY_WINDOW_ID": "1", "KITTY_PID": "7"}),
        key({"TERM_SESSION_ID": "1"}),
        key({"WT_SESSION": "1"}),
        key(tty="/dev/pts/1", shell=1),
        key(tty="/dev/pts/1", shell=2),
        key(tty="/dev/pts/2", shell=1),
    ]

    assert len(set(names)) == len(names)
    assert None not in names


def test_without_a_terminal_there_is_no_key() -> None:
    assert key() is None
