from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_cleanups_of_an_instance_run_when_its_session_ends(tmp_path: Path) -> None:
    ended: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi._instance.keep(lambda: ended.append("kept"))
        pi._instance.keep(lambda: ended.append("taken back")).remove()

    async with extension_session(tmp_path, extension) as hosted:
        assert ended == ["taken back"]
        await hosted.session.new_session()

        assert ended == ["taken back", "kept", "taken back"]
