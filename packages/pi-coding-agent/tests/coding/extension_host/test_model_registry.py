from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.messages import Context, UserMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session, noting

QUESTION = Context(messages=(UserMessage(content="2 + 2?"),))


async def test_requests_of_the_model_registry_pass_through_the_wraps(tmp_path: Path) -> None:
    seen: list[Any] = []
    purposes: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.wrap_model(noting(purposes))

        @pi.command("look")
        async def look(args: str, ctx: Any) -> None:
            registry = ctx.model_registry
            model = registry.find("faux", "faux")
            assert model in registry.get_all() and model in registry.get_available()
            assert registry.resolve("faux/faux").model == model
            assert registry.has_configured_auth(model)
            await registry.refresh()
            seen.append(await registry.get_api_key_and_headers(model))
            seen.append((await registry.complete(model, QUESTION)).text)
            seen.append((await registry.stream(model, QUESTION).result()).text)
            seen.append((await registry.stream_simple(model, QUESTION).result()).text)

    steps = (says("four"), says("4"), says("IV"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("/look")

        assert hosted.failures == []
        assert hosted.session.messages == []
    assert seen[1:] == ["four", "4", "IV"]
    assert purposes == ["extension"] * 3


async def test_a_provider_can_be_registered_with_the_model_registry(tmp_path: Path) -> None:
    model = {"id": "m", "name": "M", "context_window": 1000, "max_tokens": 100}

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_start")
        def begin(event: Any, ctx: Any) -> None:
            config = {"base_url": "http://127.0.0.1:9", "api": "openai-completions"}
            ctx.model_registry.register_provider("other", {**config, "models": [model]})
            assert ctx.model_registry.find("other", "m").context_window == 1000

    async with extension_session(tmp_path, extension) as hosted:
        assert hosted.failures == []
