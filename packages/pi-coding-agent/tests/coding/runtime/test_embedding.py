"""pi inside another program: passed options are used, omitted ones are discovered."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pi.agent.events import ToolExecutionStart
from pi.agent.skills import Skill
from pi.ai.auth.credentials import ApiKeyCredential
from pi.ai.auth.storage import AuthStorage
from pi.ai.providers.faux import FAUX_MODEL
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.models.starting import UnknownModel
from pi.coding.resources.instructions import ContextFile
from pi.coding.resources.prompts import PromptTemplate
from pi.coding.runtime.embedding import (
    create_agent_session,
)
from pi.coding.runtime.session_manager import SessionManager
from pi.coding.settings.settings import Settings
from pi.coding.trust import TrustChoice
from pi.extension import CommandContext, ExtensionAPI
from pi.testing import FakeClock, calls, says
from tests.coding.runtime.program import Program, add
from tests.files import put

# Discovered options -------------------------------------------------------------------------------


async def test_omitted_options_are_discovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path)
    program.project()
    monkeypatch.chdir(program.cwd)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(program.agent_dir))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-none")
    created = await create_agent_session(trust=True)
    async with created.session as session:
        assert created.model_fallback_message is None
        assert session.model is not None
        assert session.model.provider == "anthropic"
        assert session.active_tools == ("read", "bash", "edit", "write")
        assert session.session_file is not None
        assert program.agent_dir in session.session_file.parents
        assert "Speak French." in session.prompts.sections()["project_context"]
        assert "dance" in session.prompts.sections()["skills"]
        assert session.prompts.expanded("/greet Ada") == "Say hello to Ada."


EXTENSION = """
def extension(pi):
    @pi.command("{name}", description="one more")
    async def run(args, ctx):
        pass
"""


@pytest.mark.parametrize(("disabled", "discovered"), [(False, ["own"]), (True, [])])
async def test_passed_extensions_are_loaded_beside_discovered_ones(
    tmp_path: Path, discovered: list[str], *, disabled: bool
) -> None:
    program = Program(tmp_path, says("ok"))
    put(program.agent_dir / "extensions" / "own.py", EXTENSION.format(name="own"))
    put(program.cwd / "more" / "file.py", EXTENSION.format(name="file"))

    def inline(pi: ExtensionAPI) -> None:
        pi.command("inline", description="one more")(_nothing)

    session = await program.session(
        extensions=[inline],
        additional_extension_paths=["more/file.py"],
        disable_extension_discovery=disabled,
    )
    names = {info.name for info in session.extensions.infos()}
    await session.dispose()

    assert names & {"own", "file", "inline"} == {*discovered, "file", "inline"}


async def _nothing(args: str, ctx: CommandContext) -> None:
    """A command that does nothing."""


@pytest.mark.behaviour("embedding-is-self-contained")
async def test_a_file_among_the_functions_of_extensions_raises(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with pytest.raises(TypeError, match="additional_extension_paths takes files"):
        await program.session(extensions=["/nope.py"])  # type: ignore[list-item]


async def test_all_state_is_kept_in_a_custom_agent_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    program = Program(tmp_path, calls("bash", command="echo hi"), says("done"))
    put(program.agent_dir / "settings.json", '{"defaultThinkingLevel": "high"}')
    put(program.agent_dir / "AGENTS.md", "Be kind.")
    put(
        program.agent_dir / "models.json",
        '{"providers": {"mine": {"baseUrl": "http://127.0.0.1:9", "apiKey": "k",'
        ' "api": "openai-completions", "models": [{"id": "m"}]}}}',
    )
    session = await program.session()
    await session.prompt("go")
    session.settings.set({"theme": "light"})
    await session.dispose()

    assert session.session_file is not None
    assert session.session_file.is_relative_to(program.agent_dir / "sessions")
    assert session.session_file.is_file()
    assert session.state.thinking_level == "high"
    assert "Be kind." in program.prompt_of()
    assert program.registry().find("mine", "m") is not None
    assert '"light"' in (program.agent_dir / "settings.json").read_text()
    assert list(home.iterdir()) == []


async def test_a_relative_directory_is_resolved_and_a_missing_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path)
    monkeypatch.chdir(tmp_path)
    session = await program.session(cwd="project")
    await session.dispose()

    assert session.cwd == program.cwd
    with pytest.raises(PiError, match="nowhere does not exist"):
        await program.session(cwd="nowhere")


# Passed options -----------------------------------------------------------------------------------


@pytest.mark.behaviour("embedding-is-self-contained")
async def test_explicit_empty_lists_mean_none(tmp_path: Path) -> None:
    program = Program(tmp_path, says("ok"))
    program.project()
    session = await program.session(
        trust=True, tools=[], skills=[], context_files=[], prompt_templates=[]
    )
    await session.prompt("/greet Ada")
    await session.dispose()

    assert session.active_tools == ()
    assert list(session.prompts.sections()) == ["preamble", "tools", "rules", "docs", "cwd"]
    assert program.provider.requests[0].messages[-1].content[0].text == "/greet Ada"  # type: ignore[union-attr]
    assert session.info.commands() == []


async def test_resources_can_be_values_or_paths(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.project()
    outside = tmp_path / "outside"
    put(outside / "sing/SKILL.md", "---\ndescription: how to sing\n---\nLa.")
    put(outside / "bye.md", "Say goodbye.")
    put(outside / "RULES.md", "Be exact.")
    cook = Skill(name="cook", description="how to cook", location="/cook.md", content="Boil.")
    session = await program.session(
        skills=[cook, outside / "sing"],
        context_files=[ContextFile(path="/notes", content="Be brief."), outside / "RULES.md"],
        prompt_templates=[
            PromptTemplate(name="hi", description="greets", content="Hi, $1!"),
            outside / "bye.md",
        ],
    )
    await session.dispose()
    sections = session.prompts.sections()

    assert [line for line in sections["skills"].splitlines() if "<name>" in line] == [
        "    <name>cook</name>",
        "    <name>sing</name>",
    ]
    assert "Be brief." in sections["project_context"]
    assert "Be exact." in sections["project_context"]
    assert "French" not in sections["project_context"]
    assert [session.prompts.expanded(text) for text in ("/hi Ada", "/bye", "/greet x")] == [
        "Hi, Ada!",
        "Say goodbye.",
        "/greet x",
    ]


@pytest.mark.behaviour("embedding-is-self-contained")
async def test_a_custom_system_prompt_is_sent_unchanged(tmp_path: Path) -> None:
    program = Program(tmp_path, says("ok"), says("ok"))
    program.project()
    session = await program.session(trust=True, system_prompt="You are a calculator.")
    await session.prompt("1 + 1?")
    await session.prompt("2 + 2?")
    await session.dispose()

    assert program.prompt_of() == "You are a calculator."


async def test_append_system_prompt_is_used_as_text_and_never_as_a_file_name(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path, says("ok"))
    put(program.cwd / "secret", "never")
    session = await program.session(append_system_prompt="secret")
    await session.dispose()

    assert session.prompts.sections()["addendum"] == "<addendum>\nsecret\n</addendum>"


async def test_tools_can_be_names_of_built_in_tools_or_functions(tmp_path: Path) -> None:
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    program = Program(tmp_path, calls("add", a=2, b=3), calls("shout", text="5"), says("5!"))
    session = await program.session(tools=["read", "ls"], custom_tools=[add, shout])
    answer = await session.prompt("2 + 3?")
    assert list(session.active_tools) == ["read", "ls", "add", "shout"]
    assert answer is not None
    assert answer.text == "5!"
    session.set_active_tools(["add", "none"])
    on = list(session.active_tools)
    await session.dispose()

    assert on == ["add"]


async def test_chosen_built_in_tools_leave_the_tools_of_extensions_active(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_tool(add)

    program = Program(tmp_path, says("ok"), says("ok"))
    chosen = await program.session(tools=["read"], extensions=[extension])
    none = await program.session(tools=[], extensions=[extension])
    active = (list(chosen.active_tools), list(none.active_tools))
    await chosen.dispose()
    await none.dispose()

    assert active == (["read", "add"], ["add"])


async def test_a_name_that_no_tool_has_is_an_error(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with pytest.raises(ValueError, match="tools: there is no tool 'raed'; did you mean 'read'"):
        await program.session(tools=["raed"])


async def test_a_second_prompt_during_a_run_names_the_parameter(tmp_path: Path) -> None:
    program = Program(tmp_path, says("ok"))
    session = await program.session()
    running = asyncio.create_task(session.prompt("first"))
    await asyncio.sleep(0)
    with pytest.raises(PiError, match=r"Specify streaming= \('steer' or 'followUp'\)"):
        await session.prompt("second")
    with pytest.raises(PiError, match=r"Specify deliver_as= \('steer' or 'followUp'\)"):
        await session.send_user_message("second")
    await running
    await session.dispose()


async def test_a_queue_that_does_not_exist_is_refused_with_the_name_of_the_parameter(
    tmp_path: Path,
) -> None:
    session = await Program(tmp_path, says("ok")).session()
    queue: Any = "next"
    with pytest.raises(
        ValueError, match="streaming must be one of 'steer', 'followUp', not 'next'"
    ):
        await session.prompt("go", streaming=queue)
    with pytest.raises(ValueError, match="deliver_as must be one of"):
        await session.send_user_message("go", deliver_as=queue)
    with pytest.raises(ValueError, match="deliver_as must be one of"):
        await session.send_custom_message({"custom_type": "x", "content": "y"}, deliver_as=queue)
    await session.dispose()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": 3}, "model must be Model or str, not int"),
        ({"tools": "read"}, "tools must be list or tuple or set or frozenset, not str"),
        ({"settings": {}}, "settings must be Settings, not dict"),
        ({"session_manager": "x"}, "session_manager must be SessionManager, not str"),
        ({"thinking_level": "hgh"}, "thinking_level must be one of 'off', .*, not 'hgh'"),
        ({"model": "unknown"}, r"Use discover_models\(\).get_available\(\) to see"),
    ],
)
async def test_an_error_names_the_python_parameter(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises((TypeError, ValueError, PiError), match=message):
        await Program(tmp_path).session(**options)


async def test_without_a_model_the_hint_names_python_parameters(tmp_path: Path) -> None:
    created = await create_agent_session(cwd=tmp_path, agent_dir=tmp_path / "agent", environ={})
    async with created.session as session:
        with pytest.raises(PiError) as raised:
            await session.prompt("hello")

    assert 'or try model="demo/tour"' in raised.value.hint
    assert "--model" not in raised.value.hint


async def test_a_model_object_need_not_be_in_the_registry(tmp_path: Path) -> None:
    program = Program(tmp_path, says("ok"), says("ok"))
    own = replace(FAUX_MODEL, id="my-own", name="Mine")
    session = await program.session(model=own, thinking_level="low")
    await session.prompt("hi")
    await session.set_model("faux/faux:high")
    await session.prompt("hi")
    await session.dispose()
    requests = [(call.model.id, call.options.reasoning) for call in program.provider.requests]

    assert requests == [("my-own", "low"), ("faux", "high")]
    with pytest.raises(UnknownModel, match='"unknown" not found'):
        await program.session(model="unknown")


async def test_passed_settings_replace_all_settings_files(tmp_path: Path) -> None:
    program = Program(tmp_path)
    put(program.agent_dir / "settings.json", '{"defaultTools": ["ls"]}')
    put(program.cwd / ".pi/settings.json", '{"defaultTools": ["grep"]}')
    settings = Settings.in_memory({"defaultTools": ["find"]})
    session = await program.session(settings=settings, trust=True)
    session.settings.set({"defaultThinkingLevel": "low"})
    await session.dispose()

    assert session.active_tools == ("find",)
    assert "low" not in (program.agent_dir / "settings.json").read_text()


async def test_passed_credentials_replace_the_credentials_file(tmp_path: Path) -> None:
    program = Program(tmp_path)
    storage = AuthStorage()
    await storage.set("openai", ApiKeyCredential(key="sk-given"))
    options = program.options(auth_storage=storage, model_registry=None, model=None)
    async with (await create_agent_session(**options)).session as session:
        assert session.model is not None
        assert session.model.provider == "openai"
    assert not program.agent_dir.exists()


async def test_a_passed_environment_and_clock_are_used(tmp_path: Path) -> None:
    program = Program(tmp_path, calls("bash", command='echo "$COLOUR"'), says("ok"))
    session = await program.session(
        environ={"PATH": os.environ["PATH"], "COLOUR": "green", "HOME": str(tmp_path)},
        clock=FakeClock(),
    )
    await session.prompt("which?")
    await session.dispose()

    assert "green" in str(session.messages)
    assert session.entries.log.header.timestamp == "2023-11-14T22:13:20.000Z"


async def test_a_trust_callback_decides_about_the_project(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.project()

    async def ask(cwd: Path) -> TrustChoice | None:
        return TrustChoice(trusted=cwd == program.cwd, directory=cwd)

    trusted = await program.session(trust=ask)
    await trusted.dispose()
    skipped = await program.session()
    await skipped.dispose()

    assert "project_context" in trusted.prompts.sections()
    assert "project_context" not in skipped.prompts.sections()
    assert len(program.reports) == 1
    assert str(program.cwd / "AGENTS.md") in program.reports[0]


async def test_an_unknown_option_is_refused_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match="has no option 'skill'; did you mean 'skills'"):
        await create_agent_session(skill=[])  # type: ignore[call-arg]


# Sessions -----------------------------------------------------------------------------------------


async def test_an_in_memory_session_writes_no_session_file(tmp_path: Path) -> None:
    program = Program(tmp_path, says("one"), says("two"))
    manager = SessionManager.in_memory(program.cwd)
    session = await program.session(cwd=None, session_manager=manager)
    await session.prompt("hi")
    await session.new_session()
    await session.prompt("hi")
    await session.dispose()

    assert (session.cwd, session.session_file) == (program.cwd, None)
    assert list(tmp_path.rglob("*.jsonl")) == []


async def test_a_session_is_resumed_from_its_file(tmp_path: Path) -> None:
    program = Program(tmp_path, says("one"), says("two"))
    first = await program.session()
    await first.prompt("hi")
    await first.dispose()
    assert first.session_file is not None
    again = await program.session(
        model=None, session_manager=SessionManager.open(first.session_file)
    )
    await again.prompt("and?")
    await again.dispose()

    assert (again.session_id, again.model) == (first.session_id, FAUX_MODEL)
    assert [point.text for point in again.info.fork_points()] == ["hi", "and?"]


async def test_in_memory_settings_accept_lists_and_dotted_names(tmp_path: Path) -> None:
    program = Program(tmp_path)
    put(tmp_path / "more/listed/SKILL.md", "---\ndescription: of a list\n---\nText.")
    settings = Settings.in_memory(
        {"skills": [str(tmp_path / "more")], "sessionDir": "kept", "compaction.enabled": False}
    )
    session = await program.session(settings=settings)
    async with session:
        assert "listed" in session.prompts.sections()["skills"]
        assert session.session_file is not None
        assert session.session_file.parent == program.cwd / "kept"
        assert session.state.auto_compaction_enabled is False


async def test_a_resumed_session_reports_a_missing_model(tmp_path: Path) -> None:
    program = Program(tmp_path, says("one"))
    first = await program.session(model=replace(FAUX_MODEL, id="old"))
    await first.prompt("hi")
    await first.dispose()
    assert first.session_file is not None
    options = program.options(model=None, session_manager=SessionManager.open(first.session_file))
    created = await create_agent_session(**options)
    await created.session.dispose()

    assert created.model_fallback_message is not None
    assert 'Model "old" not found for provider "faux"' in created.model_fallback_message


async def test_a_session_can_be_forked_replaced_and_resumed(tmp_path: Path) -> None:
    program = Program(tmp_path, says("one"), says("two"), says("three"), says("four"))
    session = await program.session()
    await session.prompt("first")
    await session.prompt("second")
    first = session.session_file
    assert first is not None
    forked = await session.fork(session.info.fork_points()[1].entry_id)
    await session.prompt("instead")
    copy = session.session_file
    await session.new_session()
    await session.switch_session(str(first))
    await session.prompt("again")
    await session.dispose()

    assert (forked.text, copy == first) == ("second", False)
    assert session.session_file == first
    assert [point.text for point in session.info.fork_points()] == ["first", "second", "again"]


async def test_messages_sent_during_a_run_are_queued(tmp_path: Path) -> None:
    program = Program(tmp_path, calls("add", a=1, b=1), *map(says, ("two", "three", "four")))
    session = await program.session(custom_tools=[add])
    running = asyncio.create_task(session.prompt("go"))
    async for event in session.events():
        if isinstance(event, ToolExecutionStart):
            break
    await session.steer("faster")
    await session.follow_up("and then?")
    assert await session.prompt("and last?", streaming="followUp") is None
    answer = await running
    await session.dispose()

    texts = [point.text for point in session.info.fork_points()]
    assert texts == ["go", "faster", "and then?", "and last?"]
    assert answer is not None
    assert answer.text == "four"


async def test_sessions_of_one_process_share_nothing(tmp_path: Path) -> None:
    async def one(name: str) -> tuple[str, str]:
        (tmp_path / name).mkdir()
        program = Program(tmp_path / name, calls("bash", command="pwd; echo $WHO"), says(name))
        session = await program.session(environ={**os.environ, "WHO": name})
        answer = await session.prompt(f"I am {name}")
        await session.dispose()
        assert answer is not None
        return answer.text, str(session.messages)

    names = ["ada", "bob", "cleo"]
    reported = await asyncio.gather(*map(one, names))

    for name, (answer, messages) in zip(names, reported, strict=True):
        assert answer == name
        assert f"/{name}/project" in messages
        assert not any(f"/{other}/" in messages for other in names if other != name)
