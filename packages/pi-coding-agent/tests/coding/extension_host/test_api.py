from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from pi.version import __version__
from tests.coding.extension_host.extension_session import extension_session


async def test_session_members_raise_while_extensions_are_loading(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        with pytest.raises(ExtensionError) as failed:
            pi.get_active_tools()
        problems.append(failed.value.explain())

    async with extension_session(tmp_path, extension):
        assert problems == [
            "The session does not exist yet: extensions are still loading."
            " Do this in a session_start handler, or later."
        ]


async def test_handlers_are_added_by_a_call_or_as_decorators(tmp_path: Path) -> None:
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        received.append(f"{pi.name} in {pi.version}")
        pi.on("session_start", lambda event, ctx: received.append("called"))
        pi.on("session_start", lambda event, ctx: received.append("removed")).remove()

        @pi.on("session_start", at="first")
        def begin(event: object, ctx: object) -> None:
            received.append("decorated")

    async with extension_session(tmp_path, extension):
        assert received == [f"extension in {__version__}", "decorated", "called"]
