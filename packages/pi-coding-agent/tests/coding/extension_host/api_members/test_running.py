from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_extensions_provide_services_to_each_other(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def offering(pi: ExtensionAPI) -> None:
        pi.provide("stack", [1])

    async with extension_session(tmp_path, offering, apis.append):
        (pi,) = apis
        assert (pi.service("stack"), pi.service("nope")) == ([1], None)


async def test_an_action_queued_with_when_idle_can_replace_the_session(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def leave(event: Any, ctx: Any) -> None:
            async def act(session: Any) -> None:
                await session.new_session()

            pi.when_idle(act)
            pi.when_idle(act).remove()

    steps = (calls("bash", command="true"), says("done"), says("new"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        before = hosted.session.session_id
        await hosted.session.prompt("go")
        await hosted.session.prompt("again")

        assert hosted.session.session_id != before
