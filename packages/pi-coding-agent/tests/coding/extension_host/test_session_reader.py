from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_the_session_manager_of_a_context_reads_the_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        await apis[0].set_session_name("work")
        manager = apis[0].context.session_manager
        leaf = manager.get_leaf_id()
        assert leaf is not None

        assert manager.get_cwd() == str(hosted.fixture.cwd)
        assert manager.get_session_file() == str(hosted.session.session_file)
        assert manager.get_session_dir() == str(hosted.session.session_file.parent)  # type: ignore[union-attr]
        assert manager.get_session_id() == manager.get_header().id == hosted.session.session_id
        assert manager.get_session_name() == "work"
        assert manager.get_leaf_entry() == manager.get_entry(leaf)
        assert (manager.get_entry("nope"), manager.get_label("nope")) == (None, None)
        assert manager.get_entries() == manager.get_branch()
        assert len(manager.get_tree()) == 1
        projection = manager.build_session_projection()
        assert len(projection.messages) == len(hosted.session.messages)
        assert manager.build_context_entries() == manager.get_branch()


async def test_an_in_memory_session_has_no_file_and_no_directory(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, persistent=False):
        manager = apis[0].context.session_manager

        assert (manager.get_session_file(), manager.get_session_dir()) == (None, None)
