"""Hooks that are requests, questions to a model, sub-sessions and MCP tools."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.extension import ExtensionAPI
from tests.batteries.hooks.hook_session import Consenting, HookProject, hooked, results
from tests.files import put

STEPS = (calls("bash", command="echo hi"), says("ok"))


def use(tmp_path: Path, **hook: Any) -> HookProject:
    project = HookProject(tmp_path)
    project.events = {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}
    project.write()
    return project


@contextmanager
def hook_server(status: int, answer: str) -> Iterator[tuple[str, list[Any]]]:
    """A server for hooks; yields its URL and the requests that it received."""
    got: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((json.loads(body), self.headers.get("authorization")))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_an_http_hook_decides_by_its_response(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "x"}}
    with hook_server(200, json.dumps(answer)) as (url, got):
        headers = {"Authorization": "Bearer $HOOK_TOKEN"}
        use(tmp_path, type="http", url=url, headers=headers, allowedEnvVars=["HOOK_TOKEN"])
        async with hooked(tmp_path, *STEPS) as hosted:
            await hosted.session.prompt("go")
            assert results(hosted) == ["x"]

    [(payload, authorization)] = got
    assert payload["tool_input"] == {"command": "echo hi"}
    # A file of the project gets no variable, whatever it lists.
    assert authorization == "Bearer "


async def test_a_request_that_fails_blocks_nothing(tmp_path: Path) -> None:
    with hook_server(500, "broken") as (url, _):
        use(tmp_path, type="http", url=url)
        ui = Consenting()
        async with hooked(tmp_path, *STEPS, ui=ui) as hosted:
            await hosted.session.prompt("go")
            assert results(hosted) == ["hi\n"]

    assert any("answered with status 500" in notice for notice in ui.notices)


async def test_a_prompt_hook_decides_by_the_response_of_a_model(tmp_path: Path) -> None:
    use(tmp_path, type="prompt", prompt="Is this safe? $ARGUMENTS")
    verdict = '```json\n{"ok": false, "reason": "too risky"}\n```'

    steps = (STEPS[0], says(verdict), says("ok"))
    async with hooked(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["too risky"]
        assert '"tool_name":"Bash"' in str(hosted.fixture.provider.requests[1])


async def test_an_agent_decides_and_its_own_calls_start_no_hooks(tmp_path: Path) -> None:
    project = use(tmp_path, type="agent", prompt="Are the tests there?")
    project.events["PreToolUse"][0]["matcher"] = "*"
    project.write()
    put(project.cwd / "notes.txt", "tests: none")

    steps = (
        STEPS[0],
        calls("read", path="notes.txt"),
        says('{"ok": false, "reason": "no tests"}'),
        says("ok"),
    )
    async with hooked(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["no tests"]
        assert len(hosted.fixture.provider.requests) == 4


async def test_an_mcp_tool_hook_decides_and_receives_fields_of_the_call(tmp_path: Path) -> None:
    use(
        tmp_path,
        type="mcp_tool",
        server="guard",
        tool="check",
        input={"command": "${tool_input.command}"},
    )
    commands: list[str] = []

    def server(pi: ExtensionAPI) -> None:
        @pi.tool(name="mcp__guard__check")
        async def check(command: str) -> str:
            """Check a command."""
            commands.append(command)
            return json.dumps({"decision": "block", "reason": "says the server"})

    async with hooked(tmp_path, *STEPS, extensions=(server,)) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["says the server"]

    assert commands == ["echo hi"]
