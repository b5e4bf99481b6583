"""A client on the official Python SDK; prints in JSON what it saw. Run with the oracles' Python."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import acp  # type: ignore[import-not-found]
from acp import schema

FILES: dict[str, str] = {}
SEEN: dict[str, Any] = {"permissions": [], "terminal": [], "kinds": [], "stopped": []}
UPDATES: list[Any] = []


class Editor(acp.Client):  # type: ignore[misc]
    """Allows everything, and has terminals that run nothing."""

    def __init__(self) -> None:
        self.hangs = False
        self.waiting = asyncio.Event()
        self.streaming = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        UPDATES.append(update)
        SEEN["kinds"].append(update.session_update)
        if update.session_update == "agent_message_chunk":
            self.streaming.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **more: Any
    ) -> Any:
        SEEN["permissions"].append(tool_call.tool_call_id)
        option = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id: str, path: str, **more: Any) -> Any:
        text = FILES.get(path) or Path(path).read_text()
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id: str, path: str, content: str, **more: Any) -> Any:
        FILES[path] = content
        SEEN["written"] = content
        return schema.WriteTextFileResponse()

    async def create_terminal(self, **params: Any) -> Any:
        SEEN["terminal"].append("create")
        return schema.CreateTerminalResponse(terminal_id="t1")

    async def wait_for_terminal_exit(self, **params: Any) -> Any:
        self.waiting.set()
        if self.hangs:
            await asyncio.sleep(60)
        return schema.WaitForTerminalExitResponse(exit_code=0)

    async def terminal_output(self, **params: Any) -> Any:
        return schema.TerminalOutputResponse(output="out\n", truncated=False)

    async def kill_terminal(self, **params: Any) -> Any:
        SEEN["terminal"].append("kill")

    async def release_terminal(self, **params: Any) -> Any:
        SEEN["terminal"].append("release")

    def on_connect(self, conn: Any) -> None:
        pass


def text_of(kind: str) -> str:
    return "".join(update.content.text for update in UPDATES if update.session_update == kind)


async def main() -> None:
    command, *arguments = json.loads(os.environ["PI_COMMAND"])
    editor, cwd = Editor(), str(Path.cwd())
    async with acp.spawn_agent_process(editor, command, *arguments, env=dict(os.environ)) as (
        agent,
        _,
    ):
        files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
        able = schema.ClientCapabilities(fs=files, terminal=True)
        await agent.initialize(protocol_version=1, client_capabilities=able)
        session = (await agent.new_session(cwd=cwd, mcp_servers=[])).session_id

        async def prompt(id: str, text: str) -> None:
            answer = await agent.prompt(session_id=id, prompt=[acp.text_block(text)])
            SEEN["stopped"].append(answer.stop_reason)

        await prompt(session, "Hi")
        SEEN["text"], SEEN["thought"] = (
            text_of("agent_message_chunk"),
            text_of("agent_thought_chunk"),
        )
        await prompt(session, "Work")
        plan = next(update for update in UPDATES if update.session_update == "plan")
        SEEN["plan"] = [entry.content for entry in plan.entries]
        second = (await agent.new_session(cwd=cwd, mcp_servers=[])).session_id
        editor.streaming.clear()
        hanging = asyncio.ensure_future(prompt(second, "Hang"))
        await editor.streaming.wait()
        await agent.cancel(session_id=second)
        await hanging
        editor.hangs = True
        editor.waiting.clear()
        running = asyncio.ensure_future(prompt(second, "Run"))
        await editor.waiting.wait()
        await agent.cancel(session_id=second)
        await running
        await agent.set_session_mode(session_id=session, mode_id="read-only")
        await agent.set_config_option(session_id=session, config_id="thought_level", value="low")
        SEEN["listed"] = len((await agent.list_sessions(cwd=cwd)).sessions)
        await agent.close_session(session_id=session)
        before = len(UPDATES)
        await agent.load_session(cwd=cwd, session_id=session, mcp_servers=[])
        SEEN["replayed"] = len(UPDATES) - before
        await agent.close_session(session_id=session)
        await agent.resume_session(cwd=cwd, session_id=session, mcp_servers=[])
        if hasattr(agent, "delete_session"):
            await agent.delete_session(session_id=second)
        try:
            await agent.ext_method("nothing/here", {})
        except acp.RequestError as error:
            SEEN["unknown"] = error.code
    sys.stdout.write(json.dumps(SEEN))


asyncio.run(main())
