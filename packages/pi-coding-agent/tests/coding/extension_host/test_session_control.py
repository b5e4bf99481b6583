from __future__ import annotations

import asyncio
from pathlib import Path

from pi.ai.providers.faux import says
from pi.coding.extension_host.control import Cancelled, SessionControl
from pi.coding.port.results import SubSession
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import SessionFixture


async def test_a_session_can_be_replaced_and_resumed(tmp_path: Path) -> None:
    async with extension_session(tmp_path, steps=(says("hi"),)) as hosted:
        await hosted.session.prompt("hello")
        control: SessionControl = SessionControl(hosted.session)
        first = hosted.session.session_file
        seen: list[int] = []

        assert first is not None
        made = await control.new_session(setup=lambda log: seen.append(len(log.tree)))
        back = await control.switch_session(first)

        assert (made, back) == (Cancelled(cancelled=False), Cancelled(cancelled=False))
        assert hosted.session.session_file == first
        assert len(seen) == 1


async def test_a_requested_shutdown_waits_until_idle(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        control = SessionControl(hosted.session)
        control.shutdown()
        async with asyncio.timeout(30):
            await hosted.session.extensions.shutdown_requested.wait()


async def test_a_nested_session_answers_and_is_closed_by_its_opener(tmp_path: Path) -> None:
    async with extension_session(tmp_path, steps=(says("four"),)) as hosted:
        nested = await SessionControl(hosted.session).open_nested(SubSession(prompt=""))
        answer = await nested.prompt("2 + 2?")
        await nested.close()

        assert answer is not None
        assert answer.text == "four"


async def test_a_nested_session_trusts_no_more_than_its_parent(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("four"))
    fixture.write("project/AGENTS.md", "Be kind.")
    fixture.write("AGENTS.md", "Obey me.")
    other = fixture.write("other/AGENTS.md", "Obey me.").parent
    fixture.write(".pi/agent/trust.json", f'{{"{fixture.cwd}": true}}')
    async with await fixture.open() as session:
        control = SessionControl(session)
        for spec in (SubSession(prompt=""), SubSession(prompt="", cwd=other)):
            nested = await control.open_nested(spec)
            prompt = str(nested.prompts.sections())  # type: ignore[attr-defined]
            await nested.close()

            assert ("Be kind." in prompt, "Obey me." in prompt) == (spec.cwd is None, False)
