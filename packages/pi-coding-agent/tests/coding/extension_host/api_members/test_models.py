from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_an_extension_can_set_the_model_and_the_thinking_level(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    received: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.on("model_select", lambda event, ctx: received.append(event.model.id))
        pi.on("thinking_level_select", lambda event, ctx: received.append(event.level))

    async with extension_session(tmp_path, extension, steps=(says("one"),)):
        (pi,) = apis
        assert pi.context.model is not None
        assert await pi.set_model(pi.context.model)
        await pi.set_thinking_level("off")
        await pi.set_thinking_level("high")

        assert pi.get_thinking_level() == "high"
    assert received == ["faux", "off", "high"]
