"""The methods of the agent, with every message checked against the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.modes.acp.updates import tool_title
from tests.base.processes.children import exists
from tests.modes.acp.editor import EVERYTHING, Editor, editing, text_blocks
from tests.modes.golden.model_answers import Answer
from tests.modes.rpc.peer import _answer, calls_bash, says
from tests.sampling import sampled


def calls(name: str, **arguments: Any) -> Answer:
    """An answer that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call_{name}", "type": "function", "function": function}
    return _answer([{"tool_calls": [call]}], finish="tool_calls")


def thinks(thought: str, *text: str) -> Answer:
    """An answer with a thought before it."""
    deltas = [{"reasoning_content": thought}, *({"content": word} for word in text)]
    return _answer(deltas, finish="stop")


async def test_a_session_from_initialize_to_the_answer(tmp_path: Path) -> None:
    async with editing(tmp_path, thinks("Hm.", "Hel", "lo")) as editor:
        about = await editor.result("initialize", protocolVersion=1)
        opened = await editor.new()
        answer = await editor.prompt(opened["sessionId"], "Hi")

        assert about["protocolVersion"] == 1
        assert about["agentInfo"]["name"] == "pi"
        assert about["agentCapabilities"]["promptCapabilities"]["embeddedContext"]
        assert answer["result"]["stopReason"] == "end_turn"
        assert editor.text() == "Hello"
        assert editor.text("agent_thought_chunk") == "Hm."
        assert (await editor.update("usage_update"))["size"] == 32000
        names = [
            row["name"]
            for row in (await editor.update("available_commands_update"))["availableCommands"]
        ]
        assert "compact" in names
        assert await editor.peer.ended() == 0
        assert editor.peer.errors == ""


async def test_invalid_requests_are_answered_with_error_codes(tmp_path: Path) -> None:
    async with editing(tmp_path) as editor:
        early = await editor.ask("session/new", cwd=str(tmp_path), mcpServers=[])
        await editor.result("initialize", protocolVersion=99)
        codes = [
            (await editor.ask(method, **params))["error"]["code"]
            for method, params in (
                ("session/fly", {}),
                ("session/new", {"cwd": "relative", "mcpServers": []}),
                ("session/new", {"cwd": "/nowhere/at/all", "mcpServers": []}),
                ("session/prompt", {"sessionId": "none", "prompt": []}),
                ("session/load", {"sessionId": "none", "cwd": str(tmp_path), "mcpServers": []}),
                ("authenticate", {"methodId": "nothing"}),
            )
        ]

        assert early["error"]["code"] == -32600
        assert codes == [-32601, -32602, -32602, -32002, -32002, -32602]


@pytest.mark.full
async def test_invalid_lines_are_answered_with_errors_and_the_server_continues(
    tmp_path: Path,
) -> None:
    lines = [b"garbage", b"\xff\xfe{}", b"[1]", b'{"id":5}', b"null", b'{"method":7}']
    async with editing(tmp_path) as editor:
        await editor.peer.send_bytes(b"".join(line + b"\n" for line in lines))
        answers = [await editor.peer.next() for _ in lines]
        await editor.peer.send({"jsonrpc": "2.0", "id": 99, "result": {}})  # to no request
        await editor.notify("session/cancel", sessionId="nothing")
        await editor.notify("_vendor/thing")

        assert [answer["error"]["code"] for answer in answers] == [-32700, -32700, *[-32600] * 4]
        assert answers[3]["id"] == 5
        await editor.open()


@pytest.mark.full
async def test_prompts_with_images_and_files(tmp_path: Path) -> None:
    async with editing(tmp_path, says("seen")) as editor:
        session = await editor.open()
        uri = "file:///some/where%20else/x.py"
        prompt = [
            {"type": "text", "text": "Look at "},
            {"type": "resource", "resource": {"uri": uri, "text": "print(1)"}},
            {"type": "text", "text": " and "},
            {"type": "resource_link", "name": "a.txt", "uri": "file:///other/a.txt"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        ]
        answer = await editor.ask("session/prompt", sessionId=session, prompt=prompt)
        refused = await editor.ask(
            "session/prompt",
            sessionId=session,
            prompt=[{"type": "audio", "data": "", "mimeType": ""}],
        )
        await editor.result("session/close", sessionId=session)
        editor.updates.clear()
        await editor.result(
            "session/load", sessionId=session, cwd=str(editor.project), mcpServers=[]
        )

        assert answer["result"]["stopReason"] == "end_turn"
        assert refused["error"]["code"] == -32602
        chunks = (
            update for update in editor.updates if update["sessionUpdate"] == "user_message_chunk"
        )
        text_block, image = (chunk["content"] for chunk in chunks)
        assert "Look at @/some/where else/x.py and @/other/a.txt" in text_block["text"]
        assert "print(1)" in text_block["text"]
        assert image == {"type": "image", "data": "aGk=", "mimeType": "image/png"}


async def test_sessions_are_listed_loaded_resumed_and_deleted(tmp_path: Path) -> None:
    answers = (calls_bash("echo out"), says("done"), says("again"))
    async with editing(tmp_path, *answers) as editor:
        session = await editor.open()
        await editor.prompt(session, "First")
        await editor.result("session/close", sessionId=session)
        closed = await editor.prompt(session, "Closed")
        listed = (await editor.result("session/list", cwd=str(editor.project)))["sessions"]
        others = (await editor.result("session/list", cwd=str(tmp_path)))["sessions"]
        params = {"sessionId": session, "cwd": str(editor.project), "mcpServers": []}
        editor.updates.clear()
        await editor.result("session/load", **params)
        replayed = list(editor.updates)
        editor.updates.clear()
        await editor.result("session/resume", **params)
        resumed = editor.kinds()
        await editor.prompt(session, "Second")
        await editor.result("session/delete", sessionId=session)

        assert closed["error"]["code"] == -32002
        assert [(session_info["sessionId"], session_info["title"]) for session_info in listed] == [
            (session, "First")
        ]
        assert others == []
        kinds = [update["sessionUpdate"] for update in replayed]
        assert kinds[:4] == [
            *("user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk")
        ]
        assert replayed[1]["rawInput"] == {"command": "echo out"}
        assert replayed[2]["content"][0]["content"]["text"].strip() == "out"
        assert "user_message_chunk" not in resumed
        assert editor.text() == "again"
        assert (await editor.result("session/list"))["sessions"] == []


async def test_tool_calls_are_shown_with_diffs_and_locations(tmp_path: Path) -> None:
    edits = [{"oldText": "beta", "newText": "BETA"}]
    answers = (calls("edit", path="a.txt", edits=edits), calls("read", path="none"), says("ok"))
    async with editing(tmp_path, *answers) as editor:
        session = await editor.open()
        await editor.prompt(session, "Edit it")

        path = str(editor.project / "a.txt")
        started = next(
            update for update in editor.updates if update["sessionUpdate"] == "tool_call"
        )
        updates = [update for update in editor.updates if update.get("toolCallId") == "call_edit"]
        failed = [update for update in editor.updates if update.get("toolCallId") == "call_read"][
            -1
        ]
        diff = {"type": "diff", "path": path, "oldText": "beta", "newText": "BETA"}
        texts = {"oldText": "alpha\nbeta\ngamma\n", "newText": "alpha\nBETA\ngamma\n"}
        assert (started["kind"], started["status"]) == ("edit", "pending")
        assert [diff] in [update.get("content") for update in updates]
        assert [update["status"] for update in updates if "status" in update][-2:] == [
            "in_progress",
            "completed",
        ]
        changed, text = updates[-1]["content"]
        assert changed == diff | texts
        assert "a.txt" in text["content"]["text"]
        assert updates[-1]["locations"] == [{"path": path, "line": 2}]
        assert failed["status"] == "failed"


async def test_cancel_while_the_answer_streams(tmp_path: Path) -> None:
    async with editing(tmp_path, says("Hel", hangs=True), says("on")) as editor:
        session = await editor.open()
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Hi"))
        await editor.update("agent_message_chunk")
        busy = await editor.prompt(session, "Meanwhile")
        await editor.notify("session/cancel", sessionId=session)

        assert busy["error"]["code"] == -32600
        assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
        assert (await editor.prompt(session, "Go on"))["result"]["stopReason"] == "end_turn"


@pytest.mark.full
async def test_cancel_request_ends_a_prompt_with_its_own_code(tmp_path: Path) -> None:
    async with editing(tmp_path, says("Hel", hangs=True), says("on")) as editor:
        session = await editor.open()
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Hi"))
        await editor.update("agent_message_chunk")
        await editor.notify("$/cancel_request", requestId=prompt)

        assert (await editor.answer(prompt))["error"]["code"] == -32800
        assert (await editor.prompt(session, "Go on"))["result"]["stopReason"] == "end_turn"


@pytest.mark.full
async def test_cancel_while_a_tool_runs_leaves_no_process(tmp_path: Path) -> None:
    async with editing(tmp_path, calls_bash("echo $$; exec sleep 60")) as editor:
        session = await editor.open()
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Run"))
        pid = await running_pid(editor)
        await editor.notify("session/cancel", sessionId=session)

        assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
        assert not exists(pid)


@pytest.mark.full
@pytest.mark.parametrize("leave", sampled(["hang up", "go away"], keep=1))
async def test_a_client_that_dies_leaves_no_process(tmp_path: Path, leave: str) -> None:
    script = "echo $$; while sleep 0.05; do echo x; done"
    async with editing(tmp_path, calls_bash(script)) as editor:
        session = await editor.open()
        await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Run"))
        pid = await running_pid(editor)
        if leave == "hang up":
            editor.peer.hang_up()
        else:
            editor.peer.go_away()

        assert await editor.peer.exit_code() == 0
        assert not exists(pid)


async def running_pid(editor: Editor) -> int:
    """The process id that a running command prints."""

    def printed() -> list[str]:
        metas = [update.get("_meta", {}).get("pi", {}) for update in editor.updates]
        blocks = (block for meta in metas for block in meta.get("partial", {}).get("output", ()))
        return [text for block in blocks if (text := block["content"]["text"]).strip()]

    await editor.until(printed)
    return int(printed()[0].split()[0])


@pytest.mark.full
async def test_two_sessions_at_once(tmp_path: Path) -> None:
    async with editing(tmp_path, says("one", hangs=True), says("two")) as editor:
        first = await editor.open()
        second = (await editor.new())["sessionId"]
        hanging = await editor.start("session/prompt", sessionId=first, prompt=text_blocks("Hi"))
        await editor.update("agent_message_chunk")
        answer = await editor.prompt(second, "Hi")
        await editor.notify("session/cancel", sessionId=first)

        assert first != second
        assert answer["result"]["stopReason"] == "end_turn"
        assert editor.text() == "onetwo"
        assert (await editor.answer(hanging))["result"]["stopReason"] == "cancelled"


@pytest.mark.full
async def test_model_thinking_and_mode_are_chosen(tmp_path: Path) -> None:
    async with editing(tmp_path) as editor:
        await editor.result("initialize", protocolVersion=1, clientCapabilities=EVERYTHING)
        opened = await editor.new()
        session = opened["sessionId"]

        async def choose(id: str, value: str) -> dict[str, str]:
            answer = await editor.result(
                "session/set_config_option", sessionId=session, configId=id, value=value
            )
            return {row["id"]: row["currentValue"] for row in answer["configOptions"]}

        assert (await choose("thought_level", "high"))["thought_level"] == "high"
        assert (await choose("model", "mock/mock-1"))["model"] == "mock/mock-1"
        assert (await choose("mode", "read-only"))["mode"] == "read-only"
        await editor.result("session/set_mode", sessionId=session, modeId="ask")
        assert (await editor.update("current_mode_update"))["currentModeId"] == "read-only"
        wrong = await editor.ask("session/set_mode", sessionId=session, modeId="fast")
        unknown = await editor.ask(
            "session/set_config_option", sessionId=session, configId="model", value="no/such"
        )

        assert opened["modes"]["currentModeId"] == "off"
        assert editor.text() == ""  # the command that switches is not shown
        assert wrong["error"]["code"] == unknown["error"]["code"] == -32602


@pytest.mark.full
async def test_the_task_list_is_the_plan(tmp_path: Path) -> None:
    tasks = [{"op": "init", "list": [{"phase": "Work", "items": ["read", "write"]}]}]
    async with editing(tmp_path, calls("todo", ops=tasks), says("ok")) as editor:
        editor.peer.replay_home.write_settings({"todo": {"enabled": True, "reminders": 0}})
        await editor.prompt(await editor.open(), "Plan")

        entries = (await editor.update("plan"))["entries"]
        assert [(entry["content"], entry["status"]) for entry in entries] == [
            ("read", "in_progress"),
            ("write", "pending"),
        ]


async def test_no_model_requires_authentication(tmp_path: Path) -> None:
    async with editing(tmp_path, model=()) as editor:
        (editor.peer.replay_home.agent_dir / "models.json").unlink()
        about = await editor.result("initialize", protocolVersion=1, clientCapabilities=EVERYTHING)
        refused = await editor.ask("authenticate", methodId="pi-login")

        assert [auth_method["id"] for auth_method in about["authMethods"]] == [
            "pi-login",
            "pi-terminal-login",
        ]
        assert refused["error"]["code"] == -32000


async def test_acp_mode_rejects_continue_on_the_command_line(tmp_path: Path) -> None:
    async with editing(tmp_path, arguments=("--continue",)) as editor:
        assert await editor.peer.ended() == 1
        assert "--continue is not supported in ACP mode" in editor.peer.errors


async def test_a_model_that_its_provider_does_not_list_needs_consent(tmp_path: Path) -> None:
    unlisted = ("--model", "mock/mock-new")
    async with editing(tmp_path, arguments=unlisted) as editor:
        assert await editor.peer.ended() == 1
        assert '"mock" does not list the model "mock-new"' in editor.peer.errors
        assert "--allow-custom-model" in editor.peer.errors
    (tmp_path / "allowed").mkdir()
    allowed = (*unlisted, "--allow-custom-model")
    async with editing(tmp_path / "allowed", says("fine"), arguments=allowed) as editor:
        await editor.prompt(await editor.open(), "Go")
        assert editor.text() == "fine"


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("bash", {"command": "ls\n-l"}, "`ls -l`"),
        ("ssh", {"host": "box", "command": "rm x"}, "ssh box rm x"),
        ("ssh", {"host": "box", "action": "read", "remotePath": "/x"}, "ssh read box /x"),
        ("gh", {"action": "issue_view", "number": 7}, "gh issue_view #7"),
        ("read", {"path": "a.txt"}, "read a.txt"),
        ("todo", {"command": 3}, "todo"),
    ],
)
def test_the_title_of_a_call_shows_where_it_acts(
    name: str, arguments: dict[str, object], title: str
) -> None:
    assert tool_title(name, arguments) == title
