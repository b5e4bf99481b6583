from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_a_session_can_be_read_under_the_names_of_its_manager(tmp_path: Path) -> None:
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
        shown = manager.build_session_projection()
        assert len(shown.messages) == len(hosted.session.messages)
        assert manager.build_context_entries() == manager.get_branch()


async def test_in_memory_there_is_no_file(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append, persistent=False):
        manager = apis[0].context.session_manager

        assert (manager.get_session_file(), manager.get_session_dir()) == (None, None)
