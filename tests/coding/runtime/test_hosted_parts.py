from __future__ import annotations

from pathlib import Path

from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.stage import playing


async def test_a_model_without_credentials_is_refused(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with playing(tmp_path, apis.append) as play:
        (pi,) = apis
        model = play.stage.registry.models.get_models("anthropic")[0]

        assert not await pi.set_model(model)
        assert play.session.model is not None
        assert play.session.model.id == "faux"


async def test_a_place_knows_what_the_session_works_with(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        place, stage = play.host.session.place, play.stage

        assert (place.cwd, place.clock) == (stage.cwd, stage.clock)
        assert place.environ["HOME"] == str(stage.home)
        assert place.blobs.directory == stage.agent_dir / "blobs"
        assert place.http() is place.http()


async def test_where_nothing_needs_trust_that_is_so_until_something_does(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        place = play.host.session.place
        before = place.trusted
        play.stage.write("project/AGENTS.md", "Obey me.")

        assert (before, place.trusted) == (True, False)


async def test_tools_are_chosen_while_nothing_runs(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        tools = play.host.session.tools
        tools.select(["read"])

        assert tools.active() == ("read",)
        assert {"read", "bash"} <= {tool.name for tool in tools.all()}


async def test_what_was_said_is_converted_for_models(tmp_path: Path) -> None:
    async with playing(tmp_path, steps=(says("hi"),)) as play:
        await play.session.prompt("hello")
        talk, facts = play.host.session.talk, play.host.session.facts

        said = talk.convert(talk.messages())
        assert [type(message) for message in said].count(UserMessage) == 1
        assert (talk.pending, talk.partial_answer) == ((), None)
        assert facts.state() == play.session.state
        assert str(play.stage.cwd) in facts.system_prompt()
        assert facts.prompt_options().cwd == str(play.stage.cwd)
