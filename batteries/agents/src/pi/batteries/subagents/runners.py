"""Runs an agent in a nested session or a process.

A nested session has the guards, wraps and trust of its parent. A process is started if
``PI_SUBPROCESS_CMD`` names a program, which must support pi's RPC protocol. Spawn wraps apply to
it, but policies do not, so that plan mode does not allow it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pi.agent import events as agent_events
from pi.ai.messages import add_usage
from pi.batteries.subagents.histories import plain_message
from pi.batteries.subagents.nodes import AgentNode, RunEnd
from pi.extension import (
    AgentTool,
    AssistantMessage,
    Child,
    ExtensionAPI,
    Json,
    Model,
    Policy,
    Record,
    SessionHandle,
    SubSession,
    TaskOptions,
    ThinkingLevel,
    Usage,
    one_line,
    replace,
)

COMMAND = "PI_SUBPROCESS_CMD"
CONFIG_FILES = "PI_CONFIG_FILES"
GUARDS = ("batteries", "permissions", "sandbox", "secrets")
"""Settings that a process gets from its parent session, whose options it does not have."""
ACTIVITY_LENGTH = 60


class RunnerSpec(Record):
    """The options with which an agent is started."""

    system: str
    tools: tuple[str, ...]
    custom_tools: tuple[AgentTool, ...]
    policies: tuple[Policy, ...]
    model: Model | None
    thinking: ThinkingLevel | None
    cwd: Path | None = None
    copy_root: Path | None = None
    file: Path | None = None
    task: TaskOptions = TaskOptions()


class NestedRunner:
    """An agent in a nested session."""

    def __init__(self, handle: SessionHandle, node: AgentNode, changed: Callable[[], None]) -> None:
        self._handle = handle
        self._node = node
        self._changed = changed
        self._tools: dict[str, str] = {}
        self._recorded = Usage()
        self._unsubscribe = handle.events(self._follow)

    @classmethod
    async def open(
        cls, pi: ExtensionAPI, node: AgentNode, spec: RunnerSpec, changed: Callable[[], None]
    ) -> NestedRunner:
        """Open the session; it waits for its first prompt."""
        handle = await pi.sub_session(
            SubSession(
                keep=True,
                tools=(*spec.tools, *(tool.name for tool in spec.custom_tools)),
                custom_tools=spec.custom_tools,
                model=spec.model,
                thinking=spec.thinking,
                append_system=spec.system,
                policies=spec.policies,
                file=spec.file,
                cwd=spec.cwd,
                copy_root=spec.copy_root,
                task=spec.task,
            )
        )
        return cls(handle, node, changed)

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        return self._handle.usage

    def take_usage(self) -> Usage:
        """Tokens and cost since the last call of this method."""
        spent, self._recorded = _difference(self.usage, self._recorded), self.usage
        return spent

    async def run(self, text: str) -> RunEnd:
        """Send a prompt and wait for the end of the run."""
        try:
            answer = await self._handle.prompt(text)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return RunEnd(failure="its session was closed", was_aborted=True)
        if answer is None:
            return RunEnd(failure="it gave no answer")
        failed = answer.stop_reason in ("error", "aborted")
        failure = answer.error_message or f"the run was {answer.stop_reason}" if failed else ""
        return RunEnd(
            text=answer.text, failure=failure, was_aborted=answer.stop_reason == "aborted"
        )

    async def steer(self, text: str) -> None:
        """Deliver a message after the current turn."""
        await self._handle.steer(text)

    async def abort(self) -> None:
        """End the current run."""
        await self._handle.abort()

    async def close(self) -> None:
        """Abort and close the session."""
        self._unsubscribe()
        await self._handle.close()

    def messages(self) -> list[Json]:
        """Its conversation."""
        plain = (plain_message(message) for message in self._handle.messages)
        return [message for message in plain if message is not None]

    def _follow(self, event: Any) -> None:
        match event:
            case agent_events.ToolExecutionStart(tool_call_id=id, tool_name=name, args=arguments):
                self._tools[id] = describe_call(name, arguments)
            case agent_events.ToolExecutionEnd(tool_call_id=id):
                self._tools.pop(id, None)
            case agent_events.MessageEnd(message=AssistantMessage()):
                self._node.requests += 1
            case _:
                return
        self._node.activity = next(reversed(self._tools.values()), "")
        self._changed()


def describe_call(name: str, arguments: Any) -> str:
    """A tool call in a few words: ``bash: npm test``."""
    fields = arguments if isinstance(arguments, dict) else {}
    for key in ("command", "path", "pattern", "query", "url", "task", "action"):
        if isinstance(fields.get(key), str) and fields[key]:
            text = one_line(f"{name}: {fields[key]}")
            return text if len(text) <= ACTIVITY_LENGTH else text[: ACTIVITY_LENGTH - 1] + "…"
    return name


class ProcessRunner:
    """An agent in its own process, over the RPC protocol of pi."""

    def __init__(
        self, child: Child, node: AgentNode, changed: Callable[[], None], guards: Path
    ) -> None:
        self._child = child
        self._guards = guards
        self._node = node
        self._changed = changed
        self._usage = self._recorded = Usage()
        self._messages: list[Json] = []
        self._is_closed = False

    @classmethod
    async def open(
        cls, pi: ExtensionAPI, node: AgentNode, spec: RunnerSpec, changed: Callable[[], None]
    ) -> ProcessRunner:
        """Start the program of ``PI_SUBPROCESS_CMD``."""
        program = shlex.split(pi.context.environ.get(COMMAND, ""))
        arguments = ["--mode", "rpc", "--no-session", "--append-system-prompt", spec.system]
        arguments += ["--tools", ",".join(spec.tools)] if spec.tools else ["--no-tools"]
        if spec.model is not None:
            arguments += ["--model", f"{spec.model.provider}/{spec.model.id}"]
        if spec.thinking is not None:
            arguments += ["--thinking", spec.thinking]
        arguments.append("--approve" if pi.context.is_project_trusted() else "--no-approve")
        guards = _write_guards(pi)
        # The full environment: the program is pi itself and needs the credentials.
        environ = dict(pi.context.environ)
        named = environ.get(CONFIG_FILES)
        environ[CONFIG_FILES] = os.pathsep.join((named, str(guards)) if named else (str(guards),))
        try:
            child = await pi.spawn(
                [*program, *arguments], env=environ, environment=None, cwd=spec.cwd, kind="agent"
            )
        except BaseException:
            guards.unlink(missing_ok=True)
            raise
        return cls(child, node, changed, guards)

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        return self._usage

    def take_usage(self) -> Usage:
        """Tokens and cost since the last call of this method."""
        spent, self._recorded = _difference(self._usage, self._recorded), self._usage
        return spent

    async def run(self, text: str) -> RunEnd:
        """Send a prompt and read events until the agent has settled."""
        try:
            await self._send({"type": "prompt", "message": text})
            return await self._until_settled()
        except asyncio.CancelledError:
            with suppress(OSError):
                await self._send({"type": "abort"})
            raise
        except OSError as error:
            return RunEnd(failure=f"its process cannot be reached: {error}")

    async def steer(self, text: str) -> None:
        """Deliver a message after the current turn."""
        await self._send({"type": "steer", "message": text})

    async def abort(self) -> None:
        """End the current run."""
        await self._send({"type": "abort"})

    async def close(self) -> None:
        """End the process and the processes that it has started."""
        if not self._is_closed:
            self._is_closed = True
            try:
                await self._child.terminate()
            finally:
                self._guards.unlink(missing_ok=True)

    def messages(self) -> list[Json]:
        """The messages that the process has sent."""
        return list(self._messages)

    async def _send(self, command: Json) -> None:
        await self._child.write(json.dumps(command).encode() + b"\n")

    async def _until_settled(self) -> RunEnd:
        last: Json = {}
        while True:
            try:
                line = await self._child.output.readline()
                if not line:
                    break
                event = json.loads(line)
            except ValueError:  # not JSON, or a line that is too long, such as a picture
                continue
            if not isinstance(event, dict):
                continue
            if event.get("type") == "response" and event.get("success") is False:
                return RunEnd(failure=str(event.get("error") or "its prompt was refused"))
            if (message := self._follow(event)) is not None:
                last = message
            if event.get("type") == "agent_settled":
                return _run_end(last)
        ended = await self._child.wait()
        ending = f"signal {ended.signal}" if ended.signal else f"exit code {ended.exit_code}"
        return RunEnd(text=_text(last), failure=f"its process ended ({ending})")

    def _follow(self, event: Json) -> Json | None:
        """Handle an event; returns the answer if the event completes one."""
        node, answer = self._node, None
        match event.get("type"):
            case "tool_execution_start":
                node.activity = describe_call(str(event.get("toolName")), event.get("args"))
            case "tool_execution_end":
                node.activity = ""
            case "message_end" if isinstance(event.get("message"), dict):
                message = event["message"]
                self._messages.append(message)
                if message.get("role") == "assistant":
                    answer = message
                    node.requests += 1
                    self._usage = add_usage(self._usage, _usage(message.get("usage")))
            case _:
                return None
        self._changed()
        return answer


def _write_guards(pi: ExtensionAPI) -> Path:
    """Write the guards of this session to a private file.

    They may come from the command line, or from ``/settings`` of this session alone, which a
    process does not read.
    """
    values = {name: pi.settings.get(name) for name in GUARDS}
    number, name = tempfile.mkstemp(prefix="pi-guards-", suffix=".json")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump({name: value for name, value in values.items() if value is not None}, file)
    return Path(name)


def _run_end(message: Json) -> RunEnd:
    reason = message.get("stopReason")
    failed = reason in ("error", "aborted")
    failure = str(message.get("errorMessage") or f"the run was {reason}") if failed else ""
    return RunEnd(text=_text(message), failure=failure, was_aborted=reason == "aborted")


def _text(message: Json) -> str:
    blocks = message.get("content")
    parts: Sequence[Any] = blocks if isinstance(blocks, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _difference(total: Usage, before: Usage) -> Usage:
    cost = total.cost
    return replace(
        total,
        input=total.input - before.input,
        output=total.output - before.output,
        cache_read=total.cache_read - before.cache_read,
        cache_write=total.cache_write - before.cache_write,
        total_tokens=total.total_tokens - before.total_tokens,
        cost=replace(
            cost,
            input=cost.input - before.cost.input,
            output=cost.output - before.cost.output,
            cache_read=cost.cache_read - before.cost.cache_read,
            cache_write=cost.cache_write - before.cost.cache_write,
            total=cost.total - before.cost.total,
        ),
    )


def _usage(value: Any) -> Usage:
    fields = value if isinstance(value, dict) else {}
    cost = fields.get("cost")
    total = cost.get("total") if isinstance(cost, dict) else 0.0
    none = Usage()
    return replace(
        none,
        input=_count(fields.get("input")),
        output=_count(fields.get("output")),
        cache_read=_count(fields.get("cacheRead")),
        cache_write=_count(fields.get("cacheWrite")),
        total_tokens=_count(fields.get("totalTokens")),
        cost=replace(none.cost, total=float(total) if isinstance(total, int | float) else 0.0),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
