"""Sub-agents beside other systems: guards, budgets, hooks, references, the SDK, other processes."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolResult
from pi.ai.providers.faux import calls, says
from pi.coding.runtime import embedding
from pi.coding.runtime.embedding import AgentSessionOptions
from pi.extension import ExtensionAPI, Policy, TaskOptions, Text, ToolRefused
from tests.base.processes.children import needs_posix_shell
from tests.batteries.subagents.agent_session import (
    Gate,
    Script,
    agent_session,
    declared,
    results,
    text,
)
from tests.batteries.test_bundled import SOURCES, install
from tests.batteries.test_recommended import with_path
from tests.coding.runtime.session_fixture import SessionFixture


async def test_a_tool_limit_applies_to_agents_except_for_yield(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    script = Script(
        main=[calls("task", task="x", name="a")],
        a=[calls("write", path="file", content="x"), calls("yield", data="tried")],
    )
    async with agent_session(tmp_path, script, apis.append) as (hosted, agents):
        apis[0].limit_tools(["read", "task"])
        await hosted.session.prompt("go")

        assert declared(script.requests["a"][0]) == ["read", "task", "yield"]
        assert agents.tree.all()[0].output == "tried"
        assert not (hosted.fixture.cwd / "file").exists()


async def test_permission_guards_receive_the_approval_tier_of_agent_calls(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def guard(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def note(event: Any, ctx: Any) -> Any:
            seen.append((event.tool_name, event.approval.tier))
            return {"block": True, "reason": "not here"} if event.tool_name == "bash" else None

    script = Script(
        main=[calls("task", task="x", name="a"), calls("task", task="y", name="b", isolated=True)],
        a=[calls("bash", command="true"), calls("yield", data="ok")],
    )
    async with agent_session(tmp_path, script, guard) as (hosted, _):
        await hosted.session.prompt("go")

        assert seen == [
            ("task", "read"), ("bash", "exec"), ("yield", "read"), ("task", "write"),
            ("yield", "read"),
        ]  # fmt: skip
        assert "not here" in str(script.requests["a"][1].messages[-1])


# References ---------------------------------------------------------------------------------------


async def read(hosted: Any, api: ExtensionAPI, path: str) -> str:
    result: ToolResult = await api.call_tool("read", {"path": path})
    return "".join(part.text for part in result.content if isinstance(part, Text))


async def test_results_and_transcripts_are_readable_by_url(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    data = {"answer": "here", "places": [{"path": "a.py"}, {"path": "b.py"}]}
    script = Script(
        main=[calls("task", task="Look.", name="a")],
        a=[calls("task", task="y", name="b"), calls("yield", data=data)],
        a__b=[calls("yield", data="of the child")],
    )
    async with agent_session(tmp_path, script, apis.append) as (hosted, _):
        await hosted.session.prompt("go")
        (api,) = apis

        assert json.loads(await read(hosted, api, "agent://a")) == data
        assert await read(hosted, api, "agent://a/b") == "of the child"
        assert await read(hosted, api, "agent://a/places/1/path") == "b.py"
        assert await read(hosted, api, "agent://a?q=.places[0].path") == "a.py"
        assert "Available: a, a.b" in await read(hosted, api, "agent://zzz")
        history = await read(hosted, api, "history://a")
        assert history.startswith("# a (task): completed\n\nLook.")
        assert "### yield" in history
        assert "of the child" in await read(hosted, api, "history://a/b")
        assert "Unknown agent: zzz. Agents: a, a.b" in await read(hosted, api, "history://zzz")


async def test_the_user_can_open_results_and_list_agents(tmp_path: Path) -> None:
    script = Script(main=[calls("task", task="x", name="a")], a=[calls("yield", data="w\n" * 5000)])
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")
        written: list[str] = []
        from tests.coding.extension_host.extension_session import FakeUI

        class Writing(FakeUI):
            def write(self, text: str) -> None:
                written.append(text)

        hosted.session.extensions.attach(Writing(), "rpc")
        await hosted.session.prompt("/open agent://a")
        await hosted.session.prompt("/agents")

        assert written[0].count("w\n") == 5000
        assert "✓ a (completed," in written[1]
        assert "scout (pi): Finds things" in written[1]


# The SDK ------------------------------------------------------------------------------------------


async def test_an_embedding_program_can_require_a_result(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = Script(main=[says("four"), calls("yield", data={"n": 4})])
    task = TaskOptions(depth=1, prefix="Parent", output_schema=schema, requires_result=True)
    async with agent_session(tmp_path, script, session_task=task) as (hosted, _):
        await hosted.session.prompt("2 + 2?")

        assert [text(each) for each in results(hosted)] == ["The result was returned."]
        assert "yield" in declared(script.requests[""][0])
        assert "Call the tool yield now" in str(script.requests[""][1].messages[-1])


async def test_an_embedding_program_can_set_the_task_depth(tmp_path: Path) -> None:
    script = Script(main=[calls("task", task="x", name="a")])
    task = TaskOptions(depth=1, prefix="Parent")
    async with agent_session(tmp_path, script, session_task=task) as (hosted, agents):
        await hosted.session.prompt("go")

        assert [(node.id, node.depth) for node in agents.tree.all()] == [("Parent.a", 2)]
        assert "task" not in declared(script.requests["Parent.a"][0])


async def test_the_battery_is_loaded_because_a_result_is_required(tmp_path: Path) -> None:
    script = Script(main=[calls("yield", data="four")])
    fixture = with_path(SessionFixture(tmp_path, script), install(tmp_path / "installed"), *SOURCES)
    session = await fixture.open(task=TaskOptions(requires_result=True))
    await session.start()
    await session.prompt("2 + 2?")

    assert "yield" in declared(script.requests[""][0])
    assert "task" not in declared(script.requests[""][0])
    assert len(script.requests[""]) == 1
    await session.close()


def test_sdk_options_are_translated_to_task_options() -> None:
    schema = {"type": "string"}
    given = AgentSessionOptions(task_depth=1, parent_task_prefix="Parent", output_schema=schema)

    assert embedding._task(given) == TaskOptions(
        depth=1, prefix="Parent", output_schema=schema, requires_result=True
    )
    assert embedding._task({"require_submit_result_tool": True}).requires_result
    assert embedding._task({}) == TaskOptions()


# A process of its own -----------------------------------------------------------------------------

PROGRAM = """\
import json, os, sys
prompts = 0
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] != "prompt":
        continue
    prompts += 1
    def send(event):
        sys.stdout.write(json.dumps(event) + "\\n"); sys.stdout.flush()
    send({"type": "agent_start"})
    if "die" in command["message"]:
        os.kill(os.getpid(), 9)
    send({"type": "tool_execution_start", "toolCallId": "1", "toolName": "bash",
          "args": {"command": "ls"}})
    send({"type": "tool_execution_end", "toolCallId": "1", "toolName": "bash"})
    text = "no JSON" if "json" in command["message"] and prompts == 1 else '{"n": 4}'
    usage = {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.5}}
    send({"type": "message_end", "message": {"role": "assistant", "stopReason": "stop",
          "usage": usage, "content": [{"type": "text", "text": text}]}})
    send({"type": "agent_settled"})
"""


@needs_posix_shell
@pytest.mark.behaviour("sub-agent-always-settles")
async def test_agents_run_in_the_program_that_the_variable_names(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tasks = [
        {"task": "plain", "name": "a"},
        {"task": "json", "name": "b", "outputSchema": schema},
        {"task": "die", "name": "c"},
    ]
    script = Script(main=[calls("task", tasks=tasks)])
    environ = {"PI_SUBPROCESS_CMD": shlex.join([sys.executable, str(program)])}
    async with agent_session(tmp_path, script, environ=environ) as (hosted, agents):
        await hosted.session.prompt("go")
        a, b, c = agents.tree.all()

        assert (a.state, a.output) == ("completed", '{"n": 4}')
        assert (b.state, json.loads(b.output), b.requests) == ("completed", {"n": 4}, 2)
        assert (c.state, c.reason) == ("failed", "its process ended (signal 9)")
        assert [*script.requests] == [""]
        assert hosted.session.info.stats().cost == pytest.approx(1.5)


READS_GUARDS = """\
import json, os, sys
line = sys.stdin.readline()
[path] = os.environ["PI_CONFIG_FILES"].split(os.pathsep)
message = {"role": "assistant", "stopReason": "stop",
           "content": [{"type": "text", "text": path + "\\n" + open(path).read()}]}
print(json.dumps({"type": "message_end", "message": message}))
print(json.dumps({"type": "agent_settled"}), flush=True)
sys.stdin.read()
"""


@needs_posix_shell
async def test_an_agent_in_a_process_has_the_guards_of_its_session(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(READS_GUARDS)
    script = Script(main=[calls("task", task="x", name="a")])
    environ = {"PI_SUBPROCESS_CMD": shlex.join([sys.executable, str(program)])}
    guards = {"secrets": {"enabled": True}, "permissions": {"mode": "read-only"}}
    async with agent_session(tmp_path, script, environ=environ, settings=guards) as (
        hosted,
        agents,
    ):
        await hosted.session.prompt("go")
        [agent] = agents.tree.all()

    path, _, content = agent.output.partition("\n")
    assert json.loads(content) == guards
    assert not Path(path).exists()


async def test_a_refused_task_call_starts_nothing(tmp_path: Path) -> None:
    class Refusing(Policy):
        async def before_tool(self, call: Any) -> Any:
            raise ToolRefused("no")

    def guard(pi: ExtensionAPI) -> None:
        pi.add_policy(Refusing())

    gate = Gate()
    gate.open.set()
    script = Script(main=[calls("task", task="x")])
    async with agent_session(tmp_path, script, guard, gate.extension) as (hosted, agents):
        await asyncio.wait_for(hosted.session.prompt("go"), 30)

        assert agents.tree.all() == []
