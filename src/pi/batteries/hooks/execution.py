"""Runs one hook: a command, a request, a question to a model, a sub-session or an MCP tool."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pi.batteries.hooks.definitions import HookDefinition
from pi.batteries.hooks.outcomes import Outcome, failed, from_process, from_text, from_verdict
from pi.batteries.hooks.payloads import filled
from pi.batteries.hooks.scripts import (
    PROJECT_DIR,
    HookPlaces,
    command_words,
    content_hashes,
    missing_script,
    project_files,
)
from pi.extension import (
    ConsentRequest,
    ExtensionAPI,
    HttpError,
    Json,
    PiError,
    SubSession,
    Text,
    ToolExecutionStartEvent,
    one_line,
)

VERDICT = """\
You check a condition for a hook of a coding agent. Answer with one JSON object and nothing else:
{"ok": true} if the condition is met, else {"ok": false, "reason": "why, and what to do"}.
"""
AGENT_TOOLS = ("read", "grep", "find", "ls")
"""A hook that checks something changes nothing."""
AGENT_TURNS = 50
MAX_RESPONSE_BYTES = 1024 * 1024
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class HookRunner:
    """Runs hooks of one session, each after its consent."""

    def __init__(
        self, pi: ExtensionAPI, variables: Callable[[HookDefinition], Mapping[str, str]]
    ) -> None:
        self._pi = pi
        self._variables = variables
        """Returns further variables of a command."""
        self.exempt: set[str] = set()
        """Ids of tool calls that agent hooks make: hooks do not apply to them."""

    @property
    def project(self) -> Path:
        """The directory of the session."""
        return self._pi.context.cwd

    @property
    def _places(self) -> HookPlaces:
        home = self._pi.context.environ.get("HOME") or str(Path.home())
        return HookPlaces(project=self.project, home=Path(home))

    # Consent --------------------------------------------------------------------------------------

    async def consent_request(self, hook: HookDefinition) -> ConsentRequest | None:
        """Return what the user has to allow; ``None`` for the user's own hooks of pi.

        A file of the project that a command runs is part of the definition with its content: a
        changed script needs a new decision, whichever file names it.
        """
        ctx = self._pi.context
        files = project_files(hook, self._places)
        if not files and hook.scope == "user" and hook.origin == "pi":
            return None
        # Bytes of a project are not read before it is trusted; without trust nothing is asked.
        scripts = await content_hashes(files, ctx) if ctx.is_project_trusted() else {}
        own = {"event": hook.event, "type": hook.type, "matcher": hook.matcher, "files": scripts}
        definition = {**hook.options, **{name: value for name, value in own.items() if value}}
        is_project = hook.scope == "project" or not files
        return ConsentRequest(
            kind="hook",
            name=f"{hook.event} {one_line(hook.label)[:60]}",
            source=hook.source if is_project else str(files[0]),
            definition=definition,
        )

    async def is_allowed(self, hook: HookDefinition) -> bool:
        """Whether a hook may run now; asks again if its script has changed."""
        request = await self.consent_request(hook)
        return request is None or bool(await self._pi.context.consent.allowed([request]))

    # Running --------------------------------------------------------------------------------------

    async def run(self, hook: HookDefinition, payload: Json) -> Outcome:
        """Run a hook and return its outcome. A hook that does not work is a failure, not a block.

        Cancelling ends its program.
        """
        if not await self.is_allowed(hook):
            return Outcome()
        kinds = {
            "command": self._command,
            "http": self._http,
            "prompt": self._prompt,
            "agent": self._agent,
            "mcp_tool": self._mcp_tool,
        }
        try:
            if hook.type == "command":  # ends its process itself
                return await self._command(hook, payload)
            async with asyncio.timeout(hook.timeout):
                return await kinds[hook.type](hook, payload)
        except TimeoutError:
            return failed(hook, f"did not end within {hook.timeout:g} seconds and was stopped")
        except PiError as error:
            return failed(hook, "failed", error.message)

    async def _command(self, hook: HookDefinition, payload: Json) -> Outcome:
        if (script := missing_script(hook, self._places)) is not None:
            return failed(hook, f"was not run: {script} does not exist")
        if isinstance(hook.options.get("args"), list):
            words = command_words(hook, self.project)
        else:
            words = [self._pi.context.shell_setup().path, "-c", hook.text("command")]
        ended = await self._pi.exec(
            words,
            stdin=msgspec.json.encode(payload),
            env={PROJECT_DIR: str(self.project), **self._variables(hook)},
            environment="command",
            timeout=hook.timeout,
            kind="hook",
        )
        return from_process(hook, ended.code, ended.stdout, ended.stderr, timed_out=ended.killed)

    async def _http(self, hook: HookDefinition, payload: Json) -> Outcome:
        try:
            response = await self._pi.http.request(
                hook.text("url"),
                method="POST",
                headers={"content-type": "application/json", **self._headers(hook)},
                body=msgspec.json.encode(payload),
                limit=MAX_RESPONSE_BYTES,
            )
        except HttpError as error:
            return failed(hook, "could not be reached", error.message)
        if not 200 <= response.status < 300:
            return failed(hook, f"answered with status {response.status}")
        return from_text(hook, response.body.decode("utf-8", "replace"))

    def _headers(self, hook: HookDefinition) -> dict[str, str]:
        """Return the headers; variables are put in only if the user's own file lists them."""
        given = hook.options.get("headers")
        listed = hook.options.get("allowedEnvVars")
        names = set(listed) if isinstance(listed, list) and hook.scope == "user" else set()
        environ = self._pi.context.environ

        def value(found: re.Match[str]) -> str:
            return environ.get(found[1], "") if found[1] in names else ""

        headers = given if isinstance(given, dict) else {}
        return {str(name): _VARIABLE.sub(value, str(text)) for name, text in headers.items()}

    async def _prompt(self, hook: HookDefinition, payload: Json) -> Outcome:
        answer = await self._pi.models.complete(
            _question(hook, payload), model=self._model(hook), system=VERDICT
        )
        if answer.stop_reason not in ("stop", "length"):
            return failed(hook, "got no answer", str(answer.error_message or answer.stop_reason))
        return from_verdict(hook, answer.text)

    async def _agent(self, hook: HookDefinition, payload: Json) -> Outcome:
        handle = await self._pi.sub_session(
            SubSession(
                prompt=_question(hook, payload),
                tools=AGENT_TOOLS,
                model=self._model(hook),
                append_system=VERDICT,
                turns=AGENT_TURNS,
                extensions="guards",
            )
        )
        # Its calls pass the guards of this session: without this, hooks would start themselves.
        end = handle.events(self._exempt_call)
        try:
            answer = await handle.result()
        finally:
            end()
            await handle.close()
        return from_verdict(hook, "" if answer is None else answer.text)

    def _exempt_call(self, event: object) -> None:
        if isinstance(event, ToolExecutionStartEvent):
            self.exempt.add(event.tool_call_id)

    async def _mcp_tool(self, hook: HookDefinition, payload: Json) -> Outcome:
        server, tool = hook.text("server"), hook.text("tool")
        names = (f"mcp__{server}_{tool}", f"mcp__{server}__{tool}")
        known = {each.name for each in self._pi.get_all_tools()}
        name = next((each for each in names if each in known), None)
        if name is None:
            return failed(hook, f"was not run: there is no tool {names[0]}")
        given = hook.options.get("input")
        arguments = filled(given, payload) if isinstance(given, dict) else {}
        result = await self._pi.call_tool(name, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, Text))
        return failed(hook, "failed", text) if result.is_error else from_text(hook, text)

    def _model(self, hook: HookDefinition) -> str | None:
        """Return the model of a hook, if it names one that is known; else that of the session."""
        name = hook.text("model")
        return name if name and self._pi.models.resolve(name) is not None else None


def _question(hook: HookDefinition, payload: Json) -> str:
    text, data = hook.text("prompt"), msgspec.json.encode(payload).decode()
    return text.replace("$ARGUMENTS", data) if "$ARGUMENTS" in text else f"{text}\n\n{data}"
