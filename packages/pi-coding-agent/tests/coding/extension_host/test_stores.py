from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.storage import FileStore
from pi.coding.extension_host.errors import StaleSession
from pi.testing import FakeClock
from tests.coding.extension_host.extension_session import extension_session


async def test_session_values_follow_the_current_branch(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        store = apis[0].store("session")
        await store.set("n", 1)
        await hosted.session.prompt("hello")
        await store.set("n", 2)
        await store.set("m", None)
        (fork_point,) = hosted.session.info.fork_points()
        now = (store.get("n"), store.get("m", 3), store.get("k", 4))

        await hosted.session.tree.go_to(fork_point.entry_id)
        assert (now, store.get("n")) == ((2, None, 4), 1)
        await store.delete("n")
        assert store.get("n", "gone") == "gone"


async def test_project_and_global_values_are_separate(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis
        await pi.store("project").set("a", [1])
        await pi.store("global").set("a", [2])

        assert (pi.store("project").get("a"), pi.store("global").get("a")) == ([1], [2])
        assert pi.store("project").get("b") is None


async def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    store = FileStore(path, FakeClock())
    await store.set("a", 1)
    await store.delete("a")
    assert store.get("a") is None

    for broken in (b"[", b'{"a": "\xff"}', b'{"a":' * 100_000):
        path.write_bytes(broken)
        with pytest.raises(PiError, match=str(path)):
            store.get("a")


async def test_the_folder_of_an_extension_is_private(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        folder = apis[0].data_directory()

    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    with pytest.raises(StaleSession):
        apis[0].data_directory()
