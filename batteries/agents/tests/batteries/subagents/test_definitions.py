"""Definitions of agents: both families of front matter, and which files may be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.providers.faux import calls
from pi.batteries.subagents.definitions import AgentDefinition, bundled_agents, parse_agent
from pi.batteries.subagents.launching import tools_of
from pi.extension import BadResource
from tests.batteries.subagents.agent_session import (
    Script,
    agent_session,
    declared,
    results,
    text,
)


def parsed(front: str, body: str = "Do it.", name: str = "helper.md") -> AgentDefinition:
    found = parse_agent(f"---\n{front}\n---\n{body}\n", Path("/agents") / name)
    assert found is not None
    return found


def test_claude_code_front_matter_is_parsed() -> None:
    found = parsed(
        "name: helper\ndescription: Helps.\ntools: Read, Grep, Bash(git:*), Agent(scout, quick)\n"
        "disallowedTools: Write\nmodel: sonnet\nmaxTurns: 7\nskills: [pdf]\nbackground: true\n"
        "isolation: worktree\n"
    )

    assert found == AgentDefinition(
        name="helper",
        description="Helps.",
        prompt="Do it.",
        tools=("read", "grep"),
        without=("write",),
        models=("sonnet",),
        max_turns=7,
        skills=("pdf",),
        background=True,
        isolated=True,
        spawns=("scout", "quick"),
        path="/agents/helper.md",
    )


def test_pi_front_matter_is_parsed() -> None:
    found = parsed(
        "description: >\n  Helps\n  well.\ntools:\n  - read\n  - bash\nmodel: a/b, @smol:low\n"
        "thinking-level: high\nspawns: '*'\nblocking: true\noutput:\n  type: object\n"
    )

    assert (found.name, found.description) == ("helper", "Helps well.")
    assert found.tools == ("read", "bash")
    assert found.models == ("a/b", "@smol:low")
    assert (found.thinking, found.spawns, found.blocking) == ("high", ("*",), True)
    assert found.output == {"type": "object"}


def test_a_codex_agent_file_is_parsed() -> None:
    found = parse_agent(
        'description = "Helps."\nmodel = "gpt-5"\nmodel_reasoning_effort = "low"\n'
        'developer_instructions = """\nDo it.\n"""\n',
        Path("/agents/helper.toml"),
    )

    assert found is not None
    assert (found.name, found.prompt, found.models) == ("helper", "Do it.", ("gpt-5",))
    assert found.thinking == "low"


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("name: x", "it has no description"),
        ("description: x\nmaxTurns: many", "maxTurns must be a positive number"),
        ("description: x\nthinking: deep", "unknown thinking level 'deep'"),
        ("description: x\noutput: text", "output must be a JSON Schema"),
        ("a: [\nno field", "line 3 is not"),
    ],
)
def test_a_broken_definition_raises_with_the_reason(front: str, reason: str) -> None:
    with pytest.raises(BadResource, match=reason):
        parsed(front)


def test_a_file_without_front_matter_is_not_an_agent() -> None:
    assert parse_agent("# Our agents\n", Path("/agents/README.md")) is None


def test_the_bundled_agents_have_prompts_and_schemas_that_can_be_used() -> None:
    from pi.batteries.subagents.submitting import TaskSubmission

    names = [each.name for each in bundled_agents()]

    assert names == ["quick", "reviewer", "scout", "security-reviewer", "task"]
    for each in bundled_agents():
        assert len(each.prompt) > 200
        TaskSubmission(each.output, "strict")


def test_an_agent_has_at_most_the_tools_of_its_caller() -> None:
    every = parsed("description: x")
    some = parsed("description: x\ntools: read, write, grep")

    assert tools_of(every, ("read", "bash", "task", "hub")) == ("read", "bash")
    assert tools_of(some, ("read", "bash", "task")) == ("read",)


# In a session -------------------------------------------------------------------------------------


def write(folder: Path, name: str, description: str, body: str = "Be brief.") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\ndescription: {description}\n---\n{body}\n")


@pytest.mark.parametrize("trusted", [True, False])
async def test_agents_of_a_project_need_trust_and_override_bundled_ones(
    tmp_path: Path, trusted: bool
) -> None:
    home, project = tmp_path / "home", tmp_path / "home/project"
    write(project / ".pi/agents", "scout", "Of the project.")
    write(project / ".claude/agents", "theirs", "Of Claude Code.")
    write(project / ".gemini/agents", "theirs", "Of Gemini.")
    write(home / ".pi/agent/agents", "mine", "Of the user.")
    write(home / ".claude/agents", "private", "Not accepted.")
    async with agent_session(tmp_path, Script(), approve=trusted) as (hosted, agents):
        found = {name: each.description for name, each in agents.catalog.usable().items()}
        offered = next(
            tool.description for tool in hosted.session.tools.listed() if tool.name == "task"
        )

        assert found["mine"] == "Of the user."
        assert "private" not in found
        assert ("- theirs: Of Claude Code." in offered) == trusted
        assert (found["scout"] == "Of the project.") == trusted


async def test_a_disabled_or_blocked_agent_is_not_offered(tmp_path: Path) -> None:
    script = Script(main=[calls("task", task="x", agent="scout")])
    environ = {"PI_BLOCKED_AGENT": "scout"}
    async with agent_session(
        tmp_path, script, task={"disabledAgents": ["quick"]}, environ=environ
    ) as (hosted, agents):
        await hosted.session.prompt("go")

        assert sorted(agents.catalog.usable()) == ["reviewer", "security-reviewer", "task"]
        assert "Unknown agent 'scout'" in text(results(hosted)[0])


async def test_prompt_skills_model_and_effort_reach_the_agent(tmp_path: Path) -> None:
    home = tmp_path / "home/.pi/agent"
    (home / "skills/pdf").mkdir(parents=True)
    (home / "skills/pdf/SKILL.md").write_text(
        "---\nname: pdf\ndescription: PDF files\n---\nUse pdftotext.\n"
    )
    (home / "agents").mkdir()
    (home / "agents/writer.md").write_text(
        "---\ndescription: Writes.\nskills: pdf, missing\nmodel: no/such\nthinking: low\n---\n"
        "Write in verse.\n"
    )
    script = Script(main=[calls("task", task="x", agent="writer", name="a", effort="high")])
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        request = script.requests["a"][0]
        output = text(results(hosted)[0])

        assert "Write in verse." in str(request.messages[0])
        assert "Use pdftotext." in str(request.messages[0])
        assert request.options.reasoning == "high"
        assert "No model for no/such: it uses that of its caller." in output
        assert "The skill missing was not found." in output
        assert agents.tree.all()[0].model == "faux/faux"


async def test_an_override_of_the_settings_chooses_the_model(tmp_path: Path) -> None:
    script = Script(main=[calls("task", task="x", agent="scout", name="a")])
    task = {"agentModelOverrides": {"scout": "faux/faux:minimal"}}
    async with agent_session(tmp_path, script, task=task) as (hosted, _):
        await hosted.session.prompt("go")

        assert script.requests["a"][0].options.reasoning == "low"  # the definition's own level


async def test_an_agent_can_delegate_only_to_agents_in_its_spawns(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", agent="reviewer", name="a")],
        a=[calls("task", task="y", agent="task"), calls("yield", error="no")],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")

        assert "task" in declared(script.requests["a"][0])
        assert "Unknown agent 'task' in task 1. Agents: scout." in str(script.requests["a"][1])
        assert [node.id for node in agents.tree.all()] == ["a"]
