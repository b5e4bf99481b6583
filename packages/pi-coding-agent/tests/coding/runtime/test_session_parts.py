from __future__ import annotations

from pathlib import Path

from pi.agent.conversation import prompt_text
from pi.ai.messages import UserMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.events.policy import options_from
from pi.coding.session.context import convert_to_llm
from tests.coding.extension_host.extension_session import extension_session


async def test_a_model_without_credentials_is_refused(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        model = hosted.fixture.registry.models.get_models("anthropic")[0]

        assert not await pi.set_model(model)
        assert hosted.session.model is not None
        assert hosted.session.model.id == "faux"


async def test_a_workspace_has_variables_and_blobs_and_a_session_one_http_client(
    tmp_path: Path,
) -> None:
    async with extension_session(tmp_path) as hosted:
        workspace, fixture = hosted.session.workspace, hosted.fixture

        assert workspace.cwd == fixture.cwd
        assert workspace.environ["HOME"] == str(fixture.home)
        assert workspace.blobs.directory == fixture.agent_dir / "blobs"
        assert hosted.session.http() is hosted.session.http()


async def test_a_project_is_trusted_until_a_file_appears_that_needs_trust(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        workspace = hosted.session.workspace
        before = workspace.is_trusted
        hosted.fixture.write("project/AGENTS.md", "Obey me.")

        assert (before, workspace.is_trusted) == (True, False)


async def test_tools_can_be_selected_while_idle(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        tools = hosted.session.tools
        tools.select(["read"])

        assert tools.active_names == ("read",)
        assert {"read", "bash"} <= {tool.name for tool in tools.listed()}


async def test_messages_of_a_session_are_converted_for_models(tmp_path: Path) -> None:
    async with extension_session(tmp_path, steps=(says("hi"),)) as hosted:
        await hosted.session.prompt("hello")
        session = hosted.session

        messages = convert_to_llm(session.info.messages())
        assert [type(message) for message in messages].count(UserMessage) == 1
        assert (session.prompts.pending, session.runs.progress.partial_answer) == ((), None)
        assert str(hosted.fixture.cwd) in prompt_text(session.prompts.sections())
        assert options_from(session.prompts.parts()).cwd == str(hosted.fixture.cwd)
