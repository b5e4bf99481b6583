"""Requests of the agent to the editor: files, terminals, permissions, forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.base.records import replace
from tests.modes.acp.editor import EVERYTHING, Editor, Refused, editing, text_blocks
from tests.modes.acp.schema import Json
from tests.modes.acp.test_sessions import calls
from tests.modes.rpc.peer import calls_bash, says
from tests.sampling import sampled

FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}
BETA = [{"oldText": "beta", "newText": "BETA"}]


def buffers(editor: Editor, texts: dict[str, str]) -> None:
    """Let the editor have files open, by name in the project."""

    def read(params: Json) -> Json:
        path = Path(params["path"])
        if path.name not in texts:
            raise Refused("not open")
        return {"content": texts[path.name]}

    def write(params: Json) -> Json:
        texts[Path(params["path"]).name] = params["content"]
        return {}

    editor.handlers |= {"fs/read_text_file": read, "fs/write_text_file": write}


async def test_unsaved_buffers_win_over_the_disk(tmp_path: Path) -> None:
    answers = (calls("read", path="a.txt"), calls("edit", path="a.txt", edits=BETA), says("ok"))
    async with editing(tmp_path, *answers) as editor:
        texts = {"a.txt": "unsaved\nbeta\n"}
        buffers(editor, texts)
        await editor.prompt(await editor.open(**FILES), "Edit")

        read = [update for update in editor.updates if update.get("toolCallId") == "call_read"][-1]
        edited = [update for update in editor.updates if update.get("toolCallId") == "call_edit"][
            -1
        ]
        assert read["content"][0]["content"]["text"] == "unsaved\nbeta\n"
        assert texts == {"a.txt": "unsaved\nBETA\n"}
        assert edited["content"][0]["newText"] == "unsaved\nBETA\n"
        assert (editor.project / "a.txt").read_text() == "alpha\nbeta\ngamma\n"


@pytest.mark.full
async def test_files_that_are_not_open_are_read_from_the_disk(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("far")
    answers = (
        calls("read", path="a.txt"),
        calls("write", path=str(tmp_path / "new.txt"), content="new"),
        says("ok"),
    )
    async with editing(tmp_path, *answers) as editor:
        (editor.project / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
        editor.handlers["fs/write_text_file"] = refuse
        await editor.prompt(await editor.open(**FILES), "Read")

        read = [update for update in editor.updates if update.get("toolCallId") == "call_read"][-1]
        assert read["content"][0]["content"]["text"] == "alpha\nbeta\ngamma\n"
        assert (tmp_path / "new.txt").read_text() == "new"  # outside of the project


def refuse(params: Json) -> Json:
    raise Refused("read-only buffer")


@pytest.mark.full
async def test_a_write_that_the_editor_refuses_in_its_project_fails(tmp_path: Path) -> None:
    async with editing(tmp_path, calls("edit", path="a.txt", edits=BETA), says("ok")) as editor:
        editor.handlers["fs/write_text_file"] = refuse
        await editor.prompt(await editor.open(**FILES), "Edit")

        ended = [update for update in editor.updates if update.get("toolCallId") == "call_edit"][-1]
        assert ended["status"] == "failed"
        assert "read-only buffer" in ended["content"][0]["content"]["text"]
        assert (editor.project / "a.txt").read_text() == "alpha\nbeta\ngamma\n"


class Terminals:
    """Terminals of an editor that run nothing."""

    def __init__(self, editor: Editor, *, output: str = "", **status: Any) -> None:
        self.created: list[Json] = []
        self.done: list[str] = []
        ends = status or {"exitCode": 0}
        editor.handlers |= {
            "terminal/create": self._create,
            "terminal/wait_for_exit": lambda params: None if status.get("hangs") else ends,
            "terminal/output": lambda params: {"output": output, "truncated": False},
            "terminal/kill": lambda params: self._note("kill"),
            "terminal/release": lambda params: self._note("release"),
        }

    def _create(self, params: Json) -> Json:
        self.created.append(params)
        return {"terminalId": "t1"}

    def _note(self, what: str) -> Json:
        self.done.append(what)
        return {}


async def test_commands_run_in_a_terminal_of_the_editor(tmp_path: Path) -> None:
    secret = {"ANTHROPIC_API_KEY": "hidden", "PLAIN": "seen"}
    async with editing(tmp_path, calls_bash("make test"), says("ok"), environ=secret) as editor:
        terminals = Terminals(editor, output="2 passed\n", exitCode=0)
        await editor.prompt(await editor.open(terminal=True), "Run")

        created = terminals.created[0]
        updates = [update for update in editor.updates if update.get("toolCallId") == "call_1"]
        assert created["cwd"] == str(editor.project)
        assert created["args"][-2:] == ["-c", "make test"]
        assert {"name": "PLAIN", "value": "seen"} in created["env"]
        assert "hidden" not in str(created)
        assert "ANTHROPIC_API_KEY" in created["args"]  # unset: the editor's own variables have it
        assert updates[-1]["content"] == [
            {"type": "terminal", "terminalId": "t1"},
            {"type": "content", "content": {"type": "text", "text": "2 passed\n"}},
        ]
        assert updates[-1]["status"] == "completed"
        assert terminals.done == ["release"]


@pytest.mark.full
async def test_a_command_that_fails_in_the_terminal_is_a_failed_call(tmp_path: Path) -> None:
    async with editing(tmp_path, calls_bash("false"), says("ok")) as editor:
        Terminals(editor, output="broken\n", exitCode=3)
        session = await editor.open(terminal=True)
        await editor.prompt(session, "Run")
        await editor.result("session/close", sessionId=session)
        editor.updates.clear()
        params = {"sessionId": session, "cwd": str(editor.project), "mcpServers": []}
        await editor.result("session/load", **params)

        ended = next(
            update for update in editor.updates if update["sessionUpdate"] == "tool_call_update"
        )
        assert ended["status"] == "failed"
        assert ended["content"][0]["content"]["text"] == "broken\n\n\nCommand exited with code 3"


async def test_cancel_kills_the_terminal(tmp_path: Path) -> None:
    async with editing(tmp_path, calls_bash("sleep 60")) as editor:
        terminals = Terminals(editor, hangs=True)
        session = await editor.open(terminal=True)
        prompt = await editor.start("session/prompt", sessionId=session, prompt=text_blocks("Run"))
        await editor.until(
            lambda: "terminal/wait_for_exit" in [request["method"] for request in editor.requests]
        )
        await editor.notify("session/cancel", sessionId=session)

        assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
        assert terminals.done == ["kill", "release"]


@pytest.mark.full
async def test_a_command_runs_in_pi_if_the_editor_cannot_create_a_terminal(
    tmp_path: Path,
) -> None:
    async with editing(tmp_path, calls_bash("echo here"), says("ok")) as editor:
        await editor.prompt(await editor.open(terminal=True), "Run")

        ended = [update for update in editor.updates if update.get("toolCallId") == "call_1"][-1]
        assert ended["content"][0]["content"]["text"].strip() == "here"


@pytest.mark.full
async def test_cancel_while_a_permission_is_requested(tmp_path: Path) -> None:
    async with editing(tmp_path, calls("write", path="new.txt", content="new")) as editor:
        editor.handlers["session/request_permission"] = lambda params: None
        session = await editor.open()
        await editor.result("session/set_mode", sessionId=session, modeId="ask")
        prompt = await editor.start(
            "session/prompt", sessionId=session, prompt=text_blocks("Write")
        )
        await editor.until(lambda: editor.requests)
        await editor.notify("session/cancel", sessionId=session)

        assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
        assert editor.notifications == ["$/cancel_request"]
        assert not (editor.project / "new.txt").exists()


DIALOGS = """
from pi.extension import ExtensionAPI, Option

def extension(pi: ExtensionAPI) -> None:
    @pi.command("questions", description="ask everything")
    async def questions(args, ctx):
        ui = ctx.ui
        said = [
            await ui.select("Which?", [Option(label="one", description="1"), "two"]),
            await ui.select("Several?", ["a", "b"], multi=True),
            await ui.confirm("Sure?", "Really."),
            await ui.input("Name?", "your name"),
            await ui.editor("Text?", "begin"),
            await ui.select("Late?", ["x", "y"], timeout=0.01, on_timeout="late"),
        ]
        ui.notify("noted", "warning")
        ctx.write(repr(said))
"""


@pytest.mark.parametrize("forms", sampled([True, False], keep=1))
async def test_dialogs_of_extensions(tmp_path: Path, forms: bool) -> None:
    file = tmp_path / "dialogs.py"
    file.write_text(DIALOGS)
    async with editing(tmp_path, arguments=("-e", str(file))) as editor:
        answers = iter(["two", ["b"], "Ada", "begin more"])

        def fill(params: Json) -> Json | None:
            if params["message"] == "Late?":
                return None
            return {"action": "accept", "content": {"answer": next(answers)}}

        def permit(params: Json) -> Json | None:
            if "Late?" in str(params):
                return None
            return {"outcome": {"outcome": "selected", "optionId": "0"}}

        editor.handlers |= {"elicitation/create": fill, "session/request_permission": permit}
        session = await editor.open(**(EVERYTHING if forms else {}))
        commands = (await editor.update("available_commands_update"))["availableCommands"]
        answer = await editor.prompt(session, "/questions")

        assert {"name": "questions", "description": "ask everything"}.items() <= next(
            command for command in commands if command["name"] == "questions"
        ).items()
        assert answer["result"]["stopReason"] == "end_turn"
        if forms:
            assert editor.text() == "['two', ['b'], True, 'Ada', 'begin more', 'late']"
            notice = await editor.update("notice")
            assert (notice["severity"], notice["title"]) == ("warning", "noted")
        else:
            assert editor.text() == "['one', None, True, None, None, 'late']"
            notices = [
                update["_meta"]["pi"]["notice"]
                for update in editor.updates
                if "notice" in update.get("_meta", {}).get("pi", {})
            ]
            assert notices == [{"severity": "warning", "text": "noted"}]


async def test_compaction_is_a_command(tmp_path: Path) -> None:
    long, summary = "word " * 30_000, replace(says("the summary"), summary=True)
    async with editing(tmp_path, says("one"), says("two"), summary) as editor:
        settings = {"compaction": {"enabled": False, "keepRecentTokens": 10}}
        editor.peer.replay_home.write_settings(settings)
        session = await editor.open(**EVERYTHING)
        await editor.prompt(session, long[:20_000])
        await editor.prompt(session, "And?")
        answer = await editor.prompt(session, "/compact")

        states = [update["status"] for update in editor.updates if "compactionId" in update]
        assert answer["result"]["stopReason"] == "end_turn", answer
        assert states == ["in_progress", "completed"]
        assert "Compacted" in editor.text()
