from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_all_registrations_are_removed_when_an_extension_is_unloaded(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("hello", lambda arguments, ctx: None)
        pi.add_view("tool", "bash", "some.module:view")
        pi.add_section("house", "Be kind.")
        pi.provide("stack", [1])

    async with extension_session(tmp_path, extension) as hosted:
        registries = hosted.host.registries
        await hosted.host.unload()

        assert registries.commands.listed() == []
        assert (registries.views.values, registries.sections.values) == ({}, {})
        assert registries.services.values == {}
