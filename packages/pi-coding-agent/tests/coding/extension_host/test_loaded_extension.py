from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_handlers_and_commands_of_an_extension_share_ui_resources_and_models(
    tmp_path: Path,
) -> None:
    contexts: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        contexts.append(pi.context)
        pi.on("session_start", lambda event, ctx: contexts.append(ctx))
        pi.register_command("look", lambda arguments, ctx: contexts.append(ctx))

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/look")
        own, handlers, commands = contexts

        assert handlers is own
        assert commands is not own
        for name in ("ui", "resources", "model_registry"):
            assert getattr(commands, name) is getattr(own, name)


async def test_extensions_are_numbered_in_the_order_of_discovery(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, apis.append):
        first, second = (pi._instance.owner for pi in apis)

        assert first.number < second.number
        assert first.path != second.path
