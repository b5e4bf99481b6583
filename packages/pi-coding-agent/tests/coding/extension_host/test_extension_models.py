from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.events import TextDelta
from pi.ai.messages import Context, SystemMessage, Text, UserMessage
from pi.ai.providers.faux import says
from pi.base.records import replace
from pi.coding.export.transcript import sum_usage
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.context import ExtensionContext
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.session.opening import open_session
from pi.coding.session.statistics import MODEL_CALL
from pi.coding.session.statistics import model_call_of as usage
from tests.coding.extension_host.extension_session import extension_session


async def test_models_are_found_by_name(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis
        model = pi.models.resolve("faux/faux")
        assert model is not None
        assert model in pi.models.available()
        assert pi.models.resolve("unknown/none") is None
        with pytest.raises(ExtensionError, match="unknown"):
            pi.models.ask("hi", model="unknown/none")


async def test_a_role_resolves_to_a_model_also_on_the_command_line(tmp_path: Path) -> None:
    def roles(pi: ExtensionAPI) -> None:
        pi.models.add_resolver(lambda name: "faux/faux" if name == "smart" else None)

    async with extension_session(tmp_path, roles, model="smart") as hosted:
        assert hosted.session.model is not None
        assert hosted.session.model.id == "faux"


async def test_the_first_result_of_a_resolver_wins_and_a_broken_one_is_skipped(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    def broken(name: str) -> None:
        raise ValueError("no")

    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        other = hosted.fixture.registry.models.get_models("anthropic")[0]
        pi.models.add_resolver(lambda name: "faux/faux", at="last")
        working = pi.models.add_resolver(lambda name: other)
        failing = pi.models.add_resolver(broken, at="first")

        first = pi.models.resolve("anything")
        working.remove()
        failing.remove()
        second = pi.models.resolve("anything")

        assert first == other
        assert second is not None
        assert second.id == "faux"


async def test_the_next_request_can_be_sent_outside_of_the_conversation(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(
        tmp_path, apis.append, steps=(says("hi"), says("In short: hi."))
    ) as hosted:
        (pi,) = apis
        await hosted.session.prompt("hello")
        request = pi.context.next_request()
        note = UserMessage(content="Sum up.")
        answer = await pi.models.complete(
            replace(request, messages=(*request.messages, note), tool_choice="none")
        )

        sent = hosted.fixture.provider.requests[1]
        assert answer.text == "In short: hi."
        assert sent.options.tool_choice == "none"
        assert sent.messages[-1] == note
        assert isinstance(sent.messages[0], SystemMessage)
        assert len(hosted.session.messages) == 3  # nothing of it is in the conversation


async def test_the_usage_of_a_request_is_part_of_the_totals_of_the_session(tmp_path: Path) -> None:
    def titles(pi: ExtensionAPI) -> None:
        @pi.on("agent_end")
        async def title(event: Any, ctx: ExtensionContext) -> None:
            await pi.models.complete("a title?")
            assert ctx.model is not None
            context = Context(messages=(UserMessage(content=(Text(text="another?"),)),))
            await ctx.model_registry.complete(ctx.model, context)

    steps = (says("answer"), says("title"), says("other"))
    async with extension_session(tmp_path, titles, steps=steps) as hosted:
        await hosted.session.prompt("hello")
        stats = hosted.session.info.stats()
        calls = [call for entry in hosted.session.entries.log.entries() if (call := usage(entry))]
        file = hosted.session.session_file
        requests = [request.messages for request in hosted.fixture.provider.requests]

        assert (stats.tokens.input, stats.tokens.output) == (30, 15)
        assert [(call.extension, call.provider, call.model) for call in calls] == [
            ("titles", "faux", "faux")
        ] * 2
        assert [event.entry["customType"] for event in hosted.emitted("EntryAppended")] == [
            MODEL_CALL,
            MODEL_CALL,
        ]
        assert {row.what for row in sum_usage(hosted.session.entries.log.entries()).rows} == {
            "faux/faux",
            "faux/faux (extension titles)",
        }
        assert "titles" not in str(requests)  # the model does not see it
    assert file is not None

    async with extension_session(
        tmp_path, open_log=lambda location: open_session(file, location)
    ) as again:  # without the extension
        assert again.session.info.stats().tokens.input == 30


async def test_the_usage_of_a_cancelled_request_is_recorded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    long = says("word " * 1000)
    async with extension_session(tmp_path, apis.append, steps=(long,)) as hosted:
        stream = apis[0].models.ask("hi")
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        used = stream.usage
        await stream.aclose()

        assert hosted.session.info.stats().tokens.input == used.input
