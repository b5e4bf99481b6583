"""A client sees each call once and complete, and can rebuild the session file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.base.records import replace
from tests.modes.acp.editor import EVERYTHING, Editor, editing, text_blocks
from tests.modes.acp.schema import Json
from tests.modes.golden.model_answers import Answer
from tests.modes.rpc.peer import _answer, says

EXTENSION = """
from pi.extension import ExtensionAPI

def extension(pi: ExtensionAPI) -> None:
    @pi.command("note", description="Add entries.")
    async def note(arguments, ctx):
        await pi.append_entry("mine", {"n": 1, "line": "a\\u2028b"})
        await pi.send_message({"custom_type": "mine", "content": "shown", "display": True})
"""


def calls_several(*calls: tuple[str, Json]) -> Answer:
    """An answer with a text and several calls."""
    rows = [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    return _answer([{"content": "I look."}, {"tool_calls": rows}], finish="tool_calls")


def stored(editor: Editor) -> list[Json]:
    """The lines of the session file, as the updates have them."""
    return list(_stored(editor.updates))


def _stored(updates: list[Json]) -> Iterator[Json]:
    for update in updates:
        meta = update.get("_meta", {}).get("pi", {})
        if "header" in meta:
            yield meta["header"]
        yield from meta.get("entries", ())


def file_lines(editor: Editor) -> list[Json]:
    """The lines of the only session file."""
    (path,) = (editor.peer.replay_home.agent_dir / "sessions").rglob("*.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def kinds_by_call(editor: Editor) -> list[tuple[str, str]]:
    """The updates about calls and usage, in order: kind, and status or id."""
    return [
        (update["sessionUpdate"], update.get("status") or update.get("toolCallId", ""))
        for update in editor.updates
        if update["sessionUpdate"] in ("tool_call", "tool_call_update", "usage_update")
    ]


async def test_calls_are_announced_before_results_and_usage_follows_them(tmp_path: Path) -> None:
    several = calls_several(
        ("bash", {"command": "echo one; echo two"}), ("bash", {"command": "exit 3"}), ("ls", {})
    )
    async with editing(tmp_path, several, says("done")) as editor:
        answer = await editor.prompt(await editor.open(), "Go")

        kinds = kinds_by_call(editor)
        announced = [index for index, row in enumerate(kinds) if row[0] == "tool_call"]
        ended = [index for index, row in enumerate(kinds) if row[1] in ("completed", "failed")]
        usage = [index for index, row in enumerate(kinds) if row[0] == "usage_update"]
        assert (len(announced), len(ended), len(usage)) == (3, 3, 2)
        assert max(announced) < min(ended)
        assert max(ended) < usage[0]
        assert answer["result"]["stopReason"] == "end_turn"


async def test_arguments_are_complete_and_output_is_sent_once(tmp_path: Path) -> None:
    slow = "for word in one two three; do echo $word; sleep 0.3; done"
    several = calls_several(("bash", {"command": slow}), ("ls", {}))
    async with editing(tmp_path, several, says("done")) as editor:
        await editor.prompt(await editor.open(), "Go")

        calls = [update for update in editor.updates if "toolCallId" in update]
        inputs = [update["rawInput"] for update in calls if "rawInput" in update]
        texts: dict[str, list[str]] = {}
        for update in calls:
            for block in update.get("content", ()):
                texts.setdefault(update["toolCallId"], []).append(block["content"]["text"])
        assert inputs == [{"command": slow}, {}]
        assert all("rawInput" not in update for update in calls[:1])
        assert texts["call_0"] == ["one\ntwo\nthree\n"]
        assert len(texts["call_1"]) == 1
        assert any("partial" in update.get("_meta", {}).get("pi", {}) for update in calls)


NESTING = '''
from pi.extension import ExtensionAPI

def extension(pi: ExtensionAPI) -> None:
    @pi.tool
    async def twice() -> str:
        """Run two commands."""
        for word in ("one", "two"):
            await pi.call_tool("bash", {"command": f"echo {word}"})
        return "both"
'''


async def test_calls_of_a_tool_are_in_the_meta_of_its_call(tmp_path: Path) -> None:
    async with editing(tmp_path, calls_several(("twice", {})), says("done")) as editor:
        extensions = editor.peer.replay_home.agent_dir / "extensions"
        extensions.mkdir(exist_ok=True)
        (extensions / "nesting.py").write_text(NESTING)
        await editor.prompt(await editor.open(), "Go")

        calls = [update for update in editor.updates if "toolCallId" in update]
        nested = [
            update["_meta"]["pi"]["nested"]
            for update in calls
            if "nested" in update.get("_meta", {}).get("pi", {})
        ]
        ended = [event for event in nested if event["type"] == "tool_execution_end"]
        assert {update["toolCallId"] for update in calls} == {"call_0"}
        assert [event["toolCallId"] for event in ended] == ["call_0/1", "call_0/2"]
        assert [event["result"]["content"][0]["text"] for event in ended] == ["one\n", "two\n"]


async def test_a_terminal_of_a_nested_call_belongs_to_the_call_of_the_model(
    tmp_path: Path,
) -> None:
    async with editing(tmp_path, calls_several(("twice", {})), says("done")) as editor:
        extensions = editor.peer.replay_home.agent_dir / "extensions"
        extensions.mkdir(exist_ok=True)
        (extensions / "nesting.py").write_text(NESTING)
        editor.handlers = {
            "terminal/create": lambda params: {"terminalId": "t1"},
            "terminal/wait_for_exit": lambda params: {"exitCode": 0},
            "terminal/output": lambda params: {"output": "out", "truncated": False},
            "terminal/release": lambda params: {},
        }
        await editor.prompt(await editor.open(terminal=True), "Go")

        calls = [update for update in editor.updates if "toolCallId" in update]
        terminals = [update for update in calls if '"t1"' in json.dumps(update.get("content"))]
        assert {update["toolCallId"] for update in calls} == {"call_0"}
        assert len(terminals) == 2


async def test_each_answer_has_a_message_id(tmp_path: Path) -> None:
    several = calls_several(("bash", {"command": "true"}))
    async with editing(tmp_path, several, says("do", "ne")) as editor:
        await editor.prompt(await editor.open(), "Go")

        chunks = [
            update for update in editor.updates if update["sessionUpdate"] == "agent_message_chunk"
        ]
        first, *others = [chunk["messageId"] for chunk in chunks]
        assert [chunk["content"]["text"] for chunk in chunks] == ["I look.", "do", "ne"]
        assert len(set(others)) == 1
        assert first != others[0]


async def test_usage_of_the_session_is_in_the_answer(tmp_path: Path) -> None:
    async with editing(tmp_path, says("one"), says("two")) as editor:
        session = await editor.open()
        first = (await editor.prompt(session, "Go"))["result"]["usage"]
        second = (await editor.prompt(session, "Go on"))["result"]["usage"]

        usage = [row["message"]["usage"] for row in file_lines(editor) if _is_answer(row)]
        assert first["totalTokens"] == usage[0]["totalTokens"]
        assert second["totalTokens"] == sum(row["totalTokens"] for row in usage)


def _is_answer(row: Json) -> bool:
    return bool(row["type"] == "message" and row["message"]["role"] == "assistant")


async def test_the_session_file_can_be_rebuilt_from_the_updates(tmp_path: Path) -> None:
    picture = calls_several(("read", {"path": "dot.png"}), ("bash", {"command": "exit 3"}))
    summary = replace(says("the summary"), summary=True)
    answers = (picture, says("a\u2028b"), says("two"), summary, says("three"))
    async with editing(tmp_path, *answers) as editor:
        home = editor.peer.replay_home
        home.write_settings({"compaction": {"enabled": False, "keepRecentTokens": 10}})
        (home.agent_dir / "extensions").mkdir(exist_ok=True)
        (home.agent_dir / "extensions" / "mine.py").write_text(EXTENSION)
        (editor.project / "dot.png").write_bytes(PNG)
        session = await editor.open()
        await editor.prompt(session, "word " * 4_000)
        await editor.prompt(session, "And?")
        await editor.prompt(session, "/note")
        await editor.result(
            "session/set_config_option", sessionId=session, configId="thought_level", value="high"
        )
        await editor.prompt(session, "/compact")
        await editor.prompt(session, "More")

        rebuilt, written = stored(editor), file_lines(editor)
        types = {row["type"] for row in written}
        assert rebuilt == written
        assert {"message", "compaction", "custom", "custom_message", "thinking_level_change"} <= (
            types
        )

        await editor.result("session/close", sessionId=session)
        editor.updates.clear()
        await editor.result(
            "session/load", sessionId=session, cwd=str(editor.project), mcpServers=[]
        )
        await editor.prompt(session, "Loaded")
        assert stored(editor) == file_lines(editor)


async def test_a_fork_has_an_id_of_its_own(tmp_path: Path) -> None:
    async with editing(tmp_path, says("one"), says("two"), says("three")) as editor:
        session = await editor.open()
        await editor.prompt(session, "First")
        forked = await editor.result(
            "session/fork", sessionId=session, cwd=str(editor.project), mcpServers=[]
        )
        await editor.prompt(forked["sessionId"], "In the fork")
        await editor.prompt(session, "In the first")

        assert forked["sessionId"] != session
        listed = (await editor.result("session/list", cwd=str(editor.project)))["sessions"]
        assert {row["sessionId"] for row in listed} == {session, forked["sessionId"]}


@pytest.mark.parametrize("method", ["session/steering", "_session/steering"])
async def test_a_steering_message_reaches_the_running_turn_once(
    tmp_path: Path, method: str
) -> None:
    slow = calls_several(("bash", {"command": "echo started; sleep 1"}))
    async with editing(tmp_path, slow, says("done"), says("again")) as editor:
        session = await editor.open()
        blocks = text_blocks("Use the other file")

        async def steer(id: str | None) -> Json:
            extra: Json = {} if id is None else {"messageId": id}
            meta = {"steering": {"idleBehavior": "promptRequired"}}
            return await editor.result(
                method, sessionId=session, prompt=blocks, _meta=meta, **extra
            )

        early = await steer("m0")
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Go"))
        await editor.until(lambda: "in_progress" in str(editor.updates))
        receipts = [await steer("m1"), await steer("m1")]
        await editor.answer(prompt)

        users = [
            row["message"]["content"]
            for row in file_lines(editor)
            if row["type"] == "message" and row["message"]["role"] == "user"
        ]
        assert early == {"outcome": "promptRequired", "reason": "noRunningTurn"}
        assert receipts == [{"outcome": "injected"}] * 2
        assert str(users).count("Use the other file") == 1


async def test_a_steering_message_that_failed_is_no_delivered_one(tmp_path: Path) -> None:
    slow = calls_several(("bash", {"command": "echo started; sleep 1"}))
    async with editing(tmp_path, slow, says("done")) as editor:
        extensions = editor.peer.replay_home.agent_dir / "extensions"
        extensions.mkdir(exist_ok=True)
        (extensions / "hello.py").write_text(
            "def extension(pi):\n    pi.register_command('hello', lambda args, ctx: None)\n"
        )
        session = await editor.open()
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Go"))
        await editor.until(lambda: "in_progress" in str(editor.updates))
        refused = [
            await editor.ask(
                "session/steering",
                sessionId=session,
                prompt=text_blocks("/hello"),
                messageId="m1",
            )
            for _ in range(2)
        ]
        await editor.answer(prompt)

    assert ["cannot be queued" in str(answer.get("error")) for answer in refused] == [True, True]


@pytest.mark.parametrize(("status", "kind"), [(503, "model_transport"), (400, None)])
async def test_a_failed_prompt_says_whether_the_provider_was_down(
    tmp_path: Path, status: int, kind: str | None
) -> None:
    body = json.dumps({"error": {"message": "no such thing"}}).encode()
    refused = replace(says(""), status=status, pieces=(replace(says("").pieces[0], data=body),))
    async with editing(tmp_path, refused) as editor:
        editor.peer.replay_home.write_settings({"retry": {"enabled": False}})
        session = await editor.open()
        error = (await editor.prompt(session, "Go"))["error"]

        assert error["data"].get("kind") == kind
        assert "no such thing" in error["data"]["details"]
        assert editor.text() == ""


async def test_a_retry_is_no_part_of_the_answer(tmp_path: Path) -> None:
    body = b'{"error": {"message": "overloaded"}}'
    refused = replace(says(""), status=503, pieces=(replace(says("").pieces[0], data=body),))
    for capabilities in ({}, EVERYTHING):
        folder = tmp_path / str(len(capabilities))
        folder.mkdir()
        async with editing(folder, refused, says("fine")) as editor:
            editor.peer.replay_home.write_settings({"retry": {"baseDelayMs": 1}})
            await editor.prompt(await editor.open(**capabilities), "Go")

            assert editor.text() == "fine"
            assert "Retry 1" in json.dumps(editor.updates)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
