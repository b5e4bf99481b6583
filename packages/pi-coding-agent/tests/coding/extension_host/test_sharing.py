from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.base.errors import PiError
from pi.extension import ExtensionAPI, Shared
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

KEY = "sk-proj-0123456789abcdefghijklmnop"


def masking(pi: ExtensionAPI) -> None:
    """Hides a name from guests, and another one from everyone."""

    @pi.add_redactor
    def redact(text: str, sink: str) -> str:
        text = text.replace("Rosebud", "[name]")
        return text.replace("Kane", "[guest sees nothing]") if sink == "collab" else text


async def test_an_extension_redacts_texts_and_entries_for_a_sink(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, masking):
        (pi,) = apis
        text = f"Kane said Rosebud with {KEY}"
        entry = {"type": "message", "message": {"content": [{"text": text}], "n": 3}, "x": None}

        assert pi.redact(text, "share") == "Kane said [name] with [redacted]"
        assert pi.redact(text, "collab") == "[guest sees nothing] said [name] with [redacted]"
        redacted = pi.redact(entry, "collab")
        assert "Rosebud" not in json.dumps(redacted)
        assert redacted["message"]["n"] == 3  # type: ignore[index]
        with pytest.raises(PiError, match="share"):
            pi.redact(text, "shares")  # type: ignore[arg-type]


async def test_a_stored_key_is_redacted_as_soon_as_it_is_stored(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        before = pi.redact("my-own-secret-value", "collab")
        stored = {"tavily": {"type": "api_key", "key": "my-own-secret-value"}}
        hosted.fixture.write(".pi/agent/auth.json", json.dumps(stored))

        assert before == "my-own-secret-value"
        assert pi.redact("my-own-secret-value", "collab") == "[redacted]"


async def test_a_context_exports_the_session_in_every_form(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (calls("read", path="missing"), says(f"Rosebud of Kane: {KEY}"))
    async with extension_session(tmp_path, apis.append, masking, steps=steps) as hosted:
        await hosted.session.prompt("who?")
        ctx = apis[0].context
        forms: dict[Any, bytes] = {
            form: await ctx.export(form, "share") for form in ("html", "markdown", "text", "jsonl")
        }

        for content in forms.values():
            assert b"[name] of Kane" in content
            assert KEY.encode() not in content
        assert forms["html"].startswith(b"<!doctype html>") or b"<html" in forms["html"][:200]
        assert json.loads(forms["jsonl"].splitlines()[0])["type"] == "session"
        assert b"[guest sees nothing]" in await ctx.export("text", "collab")
        with pytest.raises(PiError, match="Cannot export as 'pdf'"):
            await ctx.export("pdf")  # type: ignore[arg-type]


async def shared(hosted: ExtensionFixture, name: str = "") -> Shared:
    return await hosted.session.exports.share(name)


async def test_a_share_target_gets_the_redacted_page_and_returns_its_address(
    tmp_path: Path,
) -> None:
    pages: list[str] = []
    files: list[Path] = []

    def targeting(pi: ExtensionAPI) -> None:
        async def upload(file: Path) -> str:
            files.append(file)
            pages.append(file.read_text())
            return "https://example.org/1"

        async def fails(file: Path) -> None:
            raise RuntimeError("no room")

        pi.add_share_target("vault", upload, description="an encrypted page")
        pi.add_share_target("broken", fails)

    async with extension_session(tmp_path, targeting, masking, steps=(says("Rosebud"),)) as hosted:
        await hosted.session.prompt("who?")

        assert await shared(hosted, "vault") == Shared(url="https://example.org/1")
        assert "Rosebud" not in pages[0]
        assert not files[0].exists()
        assert hosted.session.exports.targets() == (("vault", "an encrypted page"), ("broken", ""))
        with pytest.raises(PiError, match="no room"):
            await shared(hosted, "broken")
        with pytest.raises(PiError, match="Unknown share target valt"):
            await shared(hosted, "valt")

        hosted.session.settings.override({"share.target": "vault"})
        assert (await shared(hosted)).url == "https://example.org/1"
        assert len(pages) == 2
