"""``/web``: a session in the browser of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.batteries.collab.local_sessions import find_session
from pi.testing import says
from tests.batteries.collab.sessions import person


async def test_web_opens_a_page_on_the_loopback(tmp_path: Path) -> None:
    async with person(tmp_path, "hanna", says("One.")) as hanna:
        opened: list[str] = []
        hanna.ui.open_url = opened.append  # type: ignore[method-assign, assignment]
        hanna.session.settings.override({"collab.relayUrl": "relay.example.com"})
        await hanna.session.prompts.prompt("First.")
        await hanna.run("/web")
        await hanna.run("/web")
        host = hanna.sharing.host
        assert host is not None
        assert host.local
        assert opened == [host.link.page()] * 2
        assert opened[0].startswith("http://127.0.0.1:")
        assert opened[0].count("#") == 1
        assert opened[0] in hanna.ui.texts[-1]


@pytest.mark.parametrize("given", ["../../etc/passwd", "0000beef", "*"])
async def test_web_rejects_arguments_that_are_not_a_session(tmp_path: Path, given: str) -> None:
    async with person(tmp_path, "hanna", says("One.")) as hanna:
        await hanna.session.prompts.prompt("First.")
        with pytest.raises(PiError, match="session"):
            find_session(hanna.pi.context, given)


async def test_web_accepts_the_prefix_of_a_session_id(tmp_path: Path) -> None:
    async with person(tmp_path, "hanna", says("One.")) as hanna:
        await hanna.session.prompts.prompt("First.")
        manager = hanna.pi.context.session_manager
        file = find_session(hanna.pi.context, manager.get_session_id()[:13])
        assert str(file) == manager.get_session_file()
