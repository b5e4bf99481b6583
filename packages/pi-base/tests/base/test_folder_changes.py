"""Notifications about changes in a folder."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from pi.base.folder_changes import watch_folder


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no notifications")
async def test_a_replaced_file_is_noticed_until_the_watch_is_closed(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("old")
    changed = asyncio.Event()
    close = watch_folder(tmp_path, changed.set)
    assert close is not None

    (tmp_path / "HEAD.lock").write_text("new")
    (tmp_path / "HEAD.lock").replace(tmp_path / "HEAD")
    await asyncio.wait_for(changed.wait(), 10)

    close()
    changed.clear()
    (tmp_path / "HEAD").write_text("newer")
    await asyncio.sleep(0.05)
    assert not changed.is_set()


async def test_a_missing_folder_and_a_file_have_no_notifications(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert watch_folder(tmp_path / "missing", lambda: None) is None
    assert watch_folder(tmp_path / "file", lambda: None) is None
