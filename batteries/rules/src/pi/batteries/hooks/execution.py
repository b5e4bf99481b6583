"""Runs one hook: a command, an HTTP request, a prompt, a sub-session or an MCP tool.

The payload has the JSON format of Claude Code; a command gets it on standard input.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pi.batteries.hooks.definitions import PROJECT_DIR, HookDefinition
from pi.batteries.hooks.outcomes import (
    Outcome,
    failed_outcome,
    from_process,
    from_text,
    from_verdict,
)
from pi.batteries.hooks.script_files import HookPlaces, command_words, missing_script, project_files
from pi.coding.claude_tools import claude_call
from pi.extension import (
    UNSET,
    ConsentRequest,
    ExtensionAPI,
    ExtensionContext,
    FileFailed,
    HttpError,
    Image,
    Json,
    PiError,
    Record,
    SubSession,
    Text,
    ToolCall,
    ToolExecutionStartEvent,
    ToolResult,
    one_line,
)
from pi.extension.guards import tool_matches

SESSION_SOURCES = {"startup": "startup", "new": "clear", "resume": "resume", "fork": "resume"}
"""Sources of SessionStart by reason of the session start; a reload runs no hooks."""
END_REASONS = {"new": "clear", "resume": "resume", "fork": "other", "quit": "other"}
_MAX_SCRIPT_BYTES = 16 * 1024 * 1024
UNREADABLE = "unreadable"
VERDICT = """\
You check a condition for a hook of a coding agent. Answer with one JSON object and nothing else:
{"ok": true} if the condition is met, else {"ok": false, "reason": "why, and what to do"}.
"""
AGENT_TOOLS = ("read", "grep", "find", "ls")
"""Only tools that change nothing: a hook of this type only checks."""
AGENT_TURNS = 50
MAX_RESPONSE_BYTES = 1024 * 1024
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class HookSession(Record):
    """The facts about the session that every payload contains."""

    session_id: str
    transcript_path: str
    """The session file; empty for a session in memory."""
    cwd: str

    def payload(self, event: str, **fields: Any) -> Json:
        """Return the input of a hook."""
        return {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }


def tool_fields(call: ToolCall, cwd: Path) -> Json:
    """Return the fields that describe a call."""
    theirs = claude_call(call, cwd)
    return {"tool_name": theirs.name, "tool_input": theirs.input, "tool_use_id": call.id}


def call_values(call: ToolCall) -> tuple[str, ...]:
    """Return the command or path of a call, which ``if`` is compared with."""
    arguments = (call.arguments.get(name) for name in ("command", "path", "pattern", "url"))
    return tuple(value for value in arguments if isinstance(value, str))


def tool_response(call: ToolCall, result: ToolResult, cwd: Path) -> Any:
    """Return the result of a call in the form that hooks of Claude Code expect."""
    text = "\n".join(block.text for block in result.content if isinstance(block, Text))
    path = claude_call(call, cwd).input.get("file_path", "")
    match call.name:
        case "bash":
            has_image = any(isinstance(block, Image) for block in result.content)
            return {"stdout": text, "stderr": "", "interrupted": False, "isImage": has_image}
        case "read":
            return {"type": "text", "file": {"filePath": path, "content": text}}
        case "write" | "edit":
            details = {} if result.details is UNSET else result.details
            more = details if isinstance(details, dict) else {}
            return {"filePath": path, "success": not result.is_error, "text": text, **more}
        case _:
            return {"content": [_block(block) for block in result.content], "text": text}


def _block(block: Text | Image) -> Json:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "mimeType": block.mime_type}


def changed_result(result: ToolResult, output: Any) -> tuple[Text | Image, ...] | None:
    """Return the content of ``updatedToolOutput``; ``None`` if it has no text."""
    match output:
        case str() as text:
            return (Text(text=text),)
        case {"stdout": str(text)} | {"text": str(text)}:
            return (Text(text=text),)
        case [*blocks] | {"content": [*blocks]}:
            texts = [block["text"] for block in blocks if _is_text(block)]
            return tuple(Text(text=text) for text in texts) if texts else None
        case _:
            return None


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def fill_variables(value: Any, payload: Json) -> Any:
    """Return a value with variables such as ``${tool_input.file_path}`` replaced."""
    if isinstance(value, dict):
        return {name: fill_variables(member, payload) for name, member in value.items()}
    if isinstance(value, list):
        return [fill_variables(member, payload) for member in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    begin, *parts = value.split("${")
    text = begin
    for part in parts:
        name, closed, rest = part.partition("}")
        text += f"{_looked_up(name, payload)}{rest}" if closed else f"${{{part}"
    return text


def _looked_up(name: str, payload: Json) -> str:
    value: Any = payload
    for key in name.strip().split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return "" if value is None else str(value)


class HookRunner:
    """Runs hooks of one session, each only with the consent of the user."""

    def __init__(
        self, pi: ExtensionAPI, variables: Callable[[HookDefinition], Mapping[str, str]]
    ) -> None:
        self._pi = pi
        self._variables = variables
        """Returns further variables of a command."""
        self.exempt: set[str] = set()
        """Ids of tool calls that agent hooks make: hooks do not apply to them."""

    @property
    def _places(self) -> HookPlaces:
        home = self._pi.context.environ.get("HOME") or str(Path.home())
        return HookPlaces(project=self._pi.context.cwd, home=Path(home))

    # Consent --------------------------------------------------------------------------------------

    async def consent_request(self, hook: HookDefinition) -> ConsentRequest | None:
        """Return the request for consent; ``None`` for the user's own hooks of pi.

        The definition includes the content of project files that the command runs: a changed script
        needs a new decision, whichever file names it.
        """
        ctx = self._pi.context
        files = project_files(hook, self._places)
        if not files and hook.scope == "user" and hook.origin == "pi":
            return None
        # Project files are not read before the project is trusted; the user is not asked either.
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
        """Whether a hook may run now; the user is asked again if its script has changed."""
        request = await self.consent_request(hook)
        return request is None or bool(await self._pi.context.consent.allowed([request]))

    # Running --------------------------------------------------------------------------------------

    async def run(self, hook: HookDefinition, payload: Json) -> Outcome:
        """Run a hook and return its outcome. An error of the hook is a failure, not a block.

        Cancelling ends its process.
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
            if hook.type == "command":  # has its own timeout, which ends the process
                return await self._command(hook, payload)
            async with asyncio.timeout(hook.timeout):
                return await kinds[hook.type](hook, payload)
        except TimeoutError:
            return failed_outcome(
                hook, f"did not end within {hook.timeout:g} seconds and was stopped"
            )
        except PiError as error:
            return failed_outcome(hook, "failed", error.message)

    async def _command(self, hook: HookDefinition, payload: Json) -> Outcome:
        if (script := missing_script(hook, self._places)) is not None:
            return failed_outcome(hook, f"was not run: {script} does not exist")
        if isinstance(hook.options.get("args"), list):
            argv = command_words(hook, self._pi.context.cwd)
        else:
            argv = [self._pi.context.shell_setup().path, "-c", hook.text("command")]
        ended = await self._pi.exec(
            argv,
            stdin=msgspec.json.encode(payload),
            env={PROJECT_DIR: str(self._pi.context.cwd), **self._variables(hook)},
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
            return failed_outcome(hook, "could not be reached", error.message)
        if not 200 <= response.status < 300:
            return failed_outcome(hook, f"answered with status {response.status}")
        return from_text(hook, response.body.decode("utf-8", "replace"))

    def _headers(self, hook: HookDefinition) -> dict[str, str]:
        """Return the headers; variables are replaced only if the user's own file lists them."""
        configured = hook.options.get("headers")
        listed = hook.options.get("allowedEnvVars")
        names = set(listed) if isinstance(listed, list) and hook.scope == "user" else set()
        environ = self._pi.context.environ

        def value(match: re.Match[str]) -> str:
            return environ.get(match[1], "") if match[1] in names else ""

        headers = configured if isinstance(configured, dict) else {}
        return {str(name): _VARIABLE.sub(value, str(text)) for name, text in headers.items()}

    async def _prompt(self, hook: HookDefinition, payload: Json) -> Outcome:
        answer = await self._pi.models.complete(
            _question(hook, payload), model=self._model(hook), system=VERDICT
        )
        if answer.stop_reason not in ("stop", "length"):
            return failed_outcome(
                hook, "got no answer", str(answer.error_message or answer.stop_reason)
            )
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
        # Its calls pass the guards of this session: without the exemption, hooks would recurse.
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
        written = f"mcp__{server}__{tool}"
        names = (tool.name for tool in self._pi.get_all_tools())
        name = next((name for name in names if tool_matches(written, name)), None)
        if name is None:
            return failed_outcome(hook, f"was not run: there is no tool {written}")
        template = hook.options.get("input")
        arguments = fill_variables(template, payload) if isinstance(template, dict) else {}
        result = await self._pi.call_tool(name, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, Text))
        return failed_outcome(hook, "failed", text) if result.is_error else from_text(hook, text)

    def _model(self, hook: HookDefinition) -> str | None:
        """Return the model of a hook; ``None``, the session's model, if it names no known one."""
        name = hook.text("model")
        return name if name and self._pi.models.resolve(name) is not None else None


async def content_hashes(files: list[Path], ctx: ExtensionContext) -> dict[str, str]:
    """Return the hash of each file's content by its path, for the definition of consent."""
    hashes: dict[str, str] = {}
    for path in files:
        name = str(path.relative_to(ctx.cwd) if path.is_relative_to(ctx.cwd) else path)
        try:
            data = await ctx.files.read_file(str(path), most=_MAX_SCRIPT_BYTES)
        except FileFailed:
            hashes[name] = UNREADABLE
        else:
            hashes[name] = hashlib.sha256(data).hexdigest()
    return hashes


def _question(hook: HookDefinition, payload: Json) -> str:
    text, data = hook.text("prompt"), msgspec.json.encode(payload).decode()
    return text.replace("$ARGUMENTS", data) if "$ARGUMENTS" in text else f"{text}\n\n{data}"
