from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_views_and_markdown_transformers_are_registered(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("tool", "bash", "some.module:view")
        pi.register_message_renderer("x", lambda *_: None)
        pi.register_entry_renderer("x", lambda *_: None)
        pi.register_markdown_transformer(lambda text, about: text.upper())

    async with extension_session(tmp_path, extension) as hosted:
        extensions = hosted.session.extensions
        assert extensions.views.has("tool", "bash")
        assert extensions.views.has("message", "x")
        assert extensions.views.has("entry", "x")
        assert extensions.views.markdown("hi", {}) == "HI"
