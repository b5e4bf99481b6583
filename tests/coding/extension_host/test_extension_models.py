from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import SystemMessage, UserMessage
from pi.ai.providers.faux import says
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.errors import ExtensionError
from tests.coding.extension_host.stage import playing


async def test_models_are_found_by_name(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with playing(tmp_path, apis.append):
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

    async with playing(tmp_path, roles, model="smart") as play:
        assert play.session.model is not None
        assert play.session.model.id == "faux"


async def test_the_first_result_of_a_resolver_wins_and_a_broken_one_is_skipped(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    def broken(name: str) -> None:
        raise ValueError("no")

    async with playing(tmp_path, apis.append) as play:
        (pi,) = apis
        other = play.stage.registry.models.get_models("anthropic")[0]
        pi.models.add_resolver(lambda name: "faux/faux", at="last")
        known = pi.models.add_resolver(lambda name: other)
        failing = pi.models.add_resolver(broken, at="first")

        first = pi.models.resolve("anything")
        known.remove()
        failing.remove()
        second = pi.models.resolve("anything")

        assert first == other
        assert second is not None
        assert second.id == "faux"


async def test_the_next_request_can_be_asked_beside_the_conversation(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with playing(tmp_path, apis.append, steps=(says("hi"), says("In short: hi."))) as play:
        (pi,) = apis
        await play.session.prompt("hello")
        request = pi.context.next_request()
        note = UserMessage(content="Sum up.")
        answer = await pi.models.complete(
            replace(request, messages=(*request.messages, note), tool_choice="none")
        )

        asked = play.stage.provider.requests[1]
        assert answer.text == "In short: hi."
        assert asked.options.tool_choice == "none"
        assert asked.messages[-1] == note
        assert isinstance(asked.messages[0], SystemMessage)
        assert len(play.session.messages) == 3  # nothing of it is in the conversation
