"""One session of the client: how it is opened, prompts, updates, modes and options."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType, field

from pi.agent.events import (
    MessageEnd,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    is_nested,
)
from pi.agent.policy import Policy
from pi.ai.events import TextDelta, ThinkingDelta, ToolCallEnd, ToolCallStart
from pi.ai.messages import AssistantMessage, Json, ToolCall
from pi.base.errors import PiError
from pi.base.json_lines import encode_line
from pi.base.records import Record
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.extension_host.events.session import SessionInfoChanged, ThinkingLevelChanged
from pi.coding.port.results import NoModel
from pi.coding.port.ui import NotifyKind
from pi.coding.retry import AutoRetryStart
from pi.modes.acp import updates
from pi.modes.acp.connection import (
    AUTH_REQUIRED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Connection,
    RequestFailed,
)
from pi.modes.acp.dialogs import MODE, AcpUI, OpenCalls, SessionChoices
from pi.modes.acp.extension_command import EXTENSIONS, run_extensions
from pi.modes.acp.params import Client
from pi.modes.headless import PromptInput

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort
    from pi.coding.session.catalog import ListedSession

log = logging.getLogger(__name__)

MOST_REPLAYED = 1_000_000
"""Maximum of messages shown of a loaded session: in practice all."""
COMPACT = {
    "name": "compact",
    "description": "summarise the conversation to free context",
    "input": {"hint": "instructions"},
}
_encode = msgspec.json.Encoder().encode


class OpenRequest(Record):
    """A session to open."""

    cwd: Path
    session_id: str | None = None
    """An existing session; ``None`` starts a new one."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Override the settings files."""
    extensions: tuple[Callable[[Any], Any], ...] = ()
    policies: tuple[Policy, ...] = ()


class ReadySession(Record):
    """A session that is ready, but not started."""

    id: str
    port: Any
    """The ``SessionPort``."""
    start: Callable[[], Awaitable[None]]


class SessionSource(Protocol):
    """Opens and lists sessions; implemented by the command line."""

    async def open(self, request: OpenRequest) -> ReadySession:
        """Open a session. Raises ``NoMatchingSession`` and other errors of sessions."""
        ...

    async def listed(self, cwd: Path | None) -> Sequence[ListedSession]:
        """Return the sessions of a working directory, or all, the last used first."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Move a session to the trash; returns False if it does not exist."""
        ...

    async def has_credentials(self) -> bool:
        """Return whether the user can use any model."""
        ...


class AcpSession:
    """Connects a session to the client: translates its events, and carries out its requests."""

    def __init__(
        self,
        session_id: str,
        port: SessionPort,
        connection: Connection,
        client: Client,
        calls: OpenCalls,
    ) -> None:
        self.port = port
        self.id = session_id
        self.choices = SessionChoices(port, self.update)
        self.ui = AcpUI(
            session_id,
            connection,
            client,
            calls,
            shown_call=self._shown_call,
            notify=self._notify,
            write=self._write,
        )
        self._connection = connection
        self._client = client
        self._calls = calls
        self._started = asyncio.Event()
        self._start_error: PiError | None = None
        """Why the session was not started; every prompt is answered with it."""
        self._prompting = False
        self._cancelled = False
        self._quiet = False
        """Whether a command runs that the user did not type."""
        self._answer: AssistantMessage | None = None
        self._shown: set[str] = set()
        """Ids of the calls that were sent to the client and have not ended."""
        self._terminals: dict[str, str] = {}
        """Terminals by call: their output is shown by the client itself."""
        self._before: dict[str, tuple[Path, str | None]] = {}
        """Files that running calls may change, with their text before; ``None`` if new."""
        self._compactions = 0
        # Only the text of a delta is encoded: there is one for every token.
        head = encode_line({"sessionId": session_id})[:-2]
        self._chunk_heads = {
            kind: b'{"jsonrpc":"2.0","method":"session/update","params":%b,"update":'
            b'{"sessionUpdate":"%b","content":{"type":"text","text":' % (head, name)
            for kind, name in (
                (TextDelta, b"agent_message_chunk"),
                (ThinkingDelta, b"agent_thought_chunk"),
            )
        }
        self._handlers: dict[type, Callable[[Any], Awaitable[None] | None]] = {
            MessageUpdate: self._on_message_update,
            MessageEnd: self._on_message_end,
            ToolExecutionStart: self._begin_call,
            ToolExecutionUpdate: self._show_output,
            ToolExecutionEnd: self._end_call,
            SessionInfoChanged: self._on_info,
            ThinkingLevelChanged: lambda event: self.choices.publish(),
            CompactionStart: self._compaction,
            CompactionEnd: self._compaction,
            AutoRetryStart: self._on_retry,
            ExtensionFailed: self._on_failure,
        }
        self._end_subscription = port.subscribe(self._on_event, kinds=tuple(self._handlers))
        self._end_moves = port.on_moved(self.choices.publish)

    # Start and end --------------------------------------------------------------------------------

    async def begin(self, start: Callable[[], Awaitable[None]]) -> None:
        """Start the session. The client must have its id: extensions may ask the user now."""
        try:
            await start()
        except PiError as error:
            self._start_error = error
            self._notify(error.explain(), "error")
        finally:
            self._started.set()
        self.update(
            {"sessionUpdate": "available_commands_update", "availableCommands": self._commands()}
        )
        self.choices.publish()

    def replay(self) -> None:
        """Show the whole conversation so far."""
        items = self.port.info.transcript(MOST_REPLAYED).items
        for update in updates.replay_updates(items, self.port.workspace.cwd):
            self.update(update)

    async def close(self) -> None:
        """Unsubscribe, then abort the run and close the session."""
        self._end_subscription()
        self._end_moves()
        await self.port.close()

    # Requests -------------------------------------------------------------------------------------

    async def prompt(self, prompt: PromptInput) -> Json:
        """Carry out a prompt; returns why it ended. Raises ``RequestFailed``."""
        if self._prompting:
            raise RequestFailed(
                INVALID_REQUEST,
                "A prompt is already running in this session.",
                hint="Cancel it first with session/cancel.",
            )
        self._prompting, self._cancelled, self._answer = True, False, None
        try:
            await self._started.wait()
            if (error := self._start_error) is not None:
                raise RequestFailed(INVALID_REQUEST, error.message, hint=error.hint)
            if not self._cancelled:
                await self._run(prompt)
        except NoModel as error:
            raise RequestFailed(AUTH_REQUIRED, error.message, hint=error.hint) from error
        finally:
            self._prompting = False
        return {"stopReason": self._stop_reason()}

    async def _run(self, prompt: PromptInput) -> None:
        command, _, rest = prompt.text.partition(" ")
        if command == "/compact" and not prompt.images:
            result = await self.port.compaction.compact(rest.strip())
            self._write(f"Compacted {result.tokens_before:,} tokens.\n")
            return
        if command == "/extensions" and not self._has_command("extensions"):
            self._write(f"{await run_extensions(self.port.extensions.switches, rest)}\n")
            self.choices.publish()  # permissions and plan mode are modes of the session
            return
        try:
            await self.port.prompts.prompt(prompt.text, prompt.images, source="rpc")
        except asyncio.CancelledError:
            await self.port.abort()
            raise

    def _stop_reason(self) -> str:
        answer = self._answer
        if self._cancelled or (answer is not None and answer.stop_reason == "aborted"):
            return "cancelled"
        if answer is None or answer.stop_reason not in ("error", "length"):
            return "end_turn"
        if answer.stop_reason == "length":
            return "max_tokens"
        raise RequestFailed(INTERNAL_ERROR, answer.error_message or "The request failed.")

    async def set_mode(self, id: str) -> None:
        """Switch the mode; the output of its command is not shown."""
        self._quiet = True
        try:
            await self.choices.set_mode(id)
        finally:
            self._quiet = False

    async def set_option(self, id: str, value: object) -> list[Json]:
        """Change an option; returns all of them."""
        self._quiet = id == MODE
        try:
            return await self.choices.set_option(id, value)
        finally:
            self._quiet = False

    async def cancel(self) -> None:
        """Abort the prompt; its request is answered with ``cancelled``."""
        if self._prompting:
            self._cancelled = True
        await self.port.abort()

    # Updates --------------------------------------------------------------------------------------

    def update(self, update: Json) -> Awaitable[None] | None:
        """Send an update; the returned awaitable waits for a slow reader."""
        params = {"sessionId": self.id, "update": update}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        return self._connection.write_line(encode_line(message))

    def show_terminal(self, call_id: str, terminal_id: str) -> None:
        """Show a terminal of the client as the output of a call."""
        self._terminals[call_id] = terminal_id
        content = [{"type": "terminal", "terminalId": terminal_id}]
        self._update_call(call_id, content=content)

    def _on_event(self, event: Any) -> Awaitable[None] | None:
        handle = self._handlers.get(type(event))
        return None if handle is None or is_nested(event) else handle(event)

    def _on_message_update(self, event: MessageUpdate) -> Awaitable[None] | None:
        return self._on_delta(event.assistant_message_event)

    def _on_message_end(self, event: MessageEnd) -> Awaitable[None] | None:
        if not isinstance(event.message, AssistantMessage):
            return None
        self._answer = event.message
        return self._usage()

    def _on_info(self, event: SessionInfoChanged) -> Awaitable[None] | None:
        title = None if isinstance(event.name, UnsetType) else event.name
        return self.update({"sessionUpdate": "session_info_update", "title": title})

    def _on_retry(self, event: AutoRetryStart) -> None:
        count = f"{event.attempt} of {event.max_attempts}"
        wait = f"{event.delay_ms / 1000:g} s"
        self._notify(f"{event.error_message} Retry {count} in {wait}.", "warning")

    def _on_failure(self, event: ExtensionFailed) -> None:
        self._notify(event.explain(), "error")

    def _on_delta(self, event: Any) -> Awaitable[None] | None:
        if (head := self._chunk_heads.get(type(event))) is not None:
            try:
                text = _encode(event.delta)
            except UnicodeEncodeError:  # a lone surrogate; the slower path replaces it
                text = encode_line(event.delta)[:-1]
            return self._connection.write_line(b"%b%b}}}}\n" % (head, text))
        match event:
            case ToolCallStart():
                call = ToolCall(id=event.id, name=event.tool_name, arguments={})
                return self._show_call(call, "pending")
            case ToolCallEnd():
                return self._show_call(event.tool_call, "pending")
        return None

    # Tool calls -----------------------------------------------------------------------------------

    def _shown_call(self, call: ToolCall) -> Json:
        """Return a call with its arguments, without the kind of the update."""
        tier = self._tier(call)
        tool_call = updates.started_call(call, tier, self.port.workspace.cwd, "pending")
        del tool_call["sessionUpdate"]
        return {key: value for key, value in tool_call.items() if value not in ([], {})}

    def _tier(self, call: ToolCall) -> str:
        try:
            return str(self.port.tools.approval(call).tier)
        except PiError:  # a tool that does not exist
            return ""

    def _show_call(self, call: ToolCall, status: str) -> Awaitable[None] | None:
        tool_call = self._shown_call(call) | {"status": status}
        is_new = call.id not in self._shown
        self._shown.add(call.id)
        kind = "tool_call" if is_new else "tool_call_update"
        return self.update({"sessionUpdate": kind, **tool_call})

    def _update_call(self, id: str, **fields: Any) -> Awaitable[None] | None:
        return self.update({"sessionUpdate": "tool_call_update", "toolCallId": id, **fields})

    async def _begin_call(self, event: ToolExecutionStart) -> None:
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=event.args)
        self._calls.start(call)
        if call.id in self._shown:
            self._update_call(call.id, status="in_progress")
        else:
            self._show_call(call, "in_progress")
        path = call.arguments.get("path")
        if isinstance(path, str) and "://" not in path and self._tier(call) == "write":
            file_path = self.port.workspace.files.resolve(path)
            self._before[call.id] = (file_path, await self._text(file_path))

    def _show_output(self, event: ToolExecutionUpdate) -> Awaitable[None] | None:
        content = updates.tool_content(event.partial_result.content)
        if not content or event.tool_call_id in self._terminals:
            return None
        return self._update_call(event.tool_call_id, content=content)

    async def _text(self, path: Path) -> str | None:
        """Return the text of a file; ``None`` if it is missing, not text, or too large to show."""
        try:
            data = await self.port.workspace.files.read_file(str(path), most=updates.MAX_DIFF)
            return data.decode()
        except (PiError, UnicodeDecodeError):
            return None

    async def _end_call(self, event: ToolExecutionEnd) -> None:
        id, result = event.tool_call_id, event.result
        self._calls.end(id)
        details = None if isinstance(result.details, UnsetType) else result.details
        update = updates.ended_call(id, result.content, details, failed=event.is_error)
        if (terminal := self._terminals.pop(id, None)) is not None:
            update["content"] = [{"type": "terminal", "terminalId": terminal}]
        changed = self._before.pop(id, None)
        if changed is not None and not event.is_error:
            path, before = changed
            if (after := await self._text(path)) is not None and after != before:
                update["content"] = [updates.file_change(path, before, after)]
                location: Json = {"path": str(path)}
                line = details.get("firstChangedLine") if isinstance(details, dict) else None
                update["locations"] = [location | ({"line": line} if isinstance(line, int) else {})]
        self._shown.discard(id)
        self.update(update)
        if event.tool_name == "todo" and (entries := updates.plan_entries(details)) is not None:
            self.update({"sessionUpdate": "plan", "entries": entries})
        self.choices.publish()  # a tool may leave plan mode

    # Notices and state ----------------------------------------------------------------------------

    def _notify(self, message: str, kind: NotifyKind) -> None:
        if self._quiet and kind == "info":
            return
        if self._client.notices:
            self.update({"sessionUpdate": "notice", "severity": kind, "title": message})
        elif self._prompting:
            self._write(f"{message}\n")
        else:
            log.warning("%s", message)

    def _write(self, text: str) -> None:
        if not self._quiet:
            self.update(updates.chunk("agent_message_chunk", updates.text_block(text)))

    def _usage(self) -> Awaitable[None] | None:
        usage = self.port.info.context_usage()
        if usage is None or usage.tokens is None:
            return None
        update: Json = {"sessionUpdate": "usage_update", "used": usage.tokens}
        update["size"] = usage.context_window
        if cost := self.port.info.stats().cost:
            update["cost"] = {"amount": cost, "currency": "USD"}
        return self.update(update)

    def _compaction(self, event: CompactionStart | CompactionEnd) -> Awaitable[None] | None:
        if isinstance(event, CompactionStart):
            self._compactions += 1
            status = "in_progress"
        elif event.aborted:
            status = "cancelled"
        else:
            status = "failed" if event.result is UNSET else "completed"
        if not self._client.compaction:
            return None
        id = f"compaction-{self._compactions}"
        update: Json = {"sessionUpdate": "compaction_update", "compactionId": id, "status": status}
        if isinstance(event, CompactionEnd):
            if not isinstance(event.result, UnsetType):
                update["summary"] = [updates.text_block(event.result.summary)]
            if not isinstance(event.error_message, UnsetType):
                update["error"] = event.error_message
        return self.update(update)

    def _has_command(self, name: str) -> bool:
        """Whether a template or an extension has a command: names of users win."""
        return any(command.name == name for command in self.port.info.commands())

    def _commands(self) -> list[Json]:
        rows: list[Json] = [COMPACT]
        if not self._has_command("extensions"):
            rows.append(EXTENSIONS)
        for command in self.port.info.commands():
            about = command.description
            text = command.name if isinstance(about, UnsetType) else about
            rows.append({"name": command.name, "description": text, "input": {"hint": "arguments"}})
        return rows
