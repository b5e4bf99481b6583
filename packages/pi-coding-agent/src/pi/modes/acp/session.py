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
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    is_nested,
)
from pi.agent.policy import Next, Policy
from pi.ai.events import TextDelta, ThinkingDelta, ToolCallEnd, ToolCallStart
from pi.ai.messages import AssistantMessage, Json
from pi.base.clock import IdFactory
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
    INVALID_REQUEST,
    Connection,
    RequestFailed,
)
from pi.modes.acp.dialogs import MODE, AcpUI, OpenCalls, SessionChoices
from pi.modes.acp.extension_command import EXTENSIONS, run_extensions
from pi.modes.acp.params import Client
from pi.modes.acp.run_result import RunFailures, stop_reason, total_usage
from pi.modes.acp.stored_entries import StoredEntries
from pi.modes.acp.tool_calls import ToolCalls
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
    forks: bool = False
    """Whether the session is continued in a copy with an id of its own."""
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
        failures: RunFailures,
    ) -> None:
        self.port = port
        self.id = session_id
        self.choices = SessionChoices(port, self.update)
        self._tool_calls = ToolCalls(port, calls, self.update)
        self.entries = StoredEntries(port, self.update)
        self.show_terminal = self._tool_calls.show_terminal
        self.ui = AcpUI(
            session_id,
            connection,
            client,
            calls,
            described=self._tool_calls.described,
            notify=self._notify,
            write=self._write,
        )
        self._connection = connection
        self._client = client
        self._failures = failures
        self._new_id = IdFactory().session_id
        self._started = asyncio.Event()
        self._start_error: PiError | None = None
        """Why the session was not started; every prompt is answered with it."""
        self._prompting = False
        self._cancelled = False
        self._quiet = False
        """Whether a command runs that the user did not type."""
        self._answer: AssistantMessage | None = None
        self._steered: set[str] = set()
        """Ids of the steering messages that were delivered, or are being delivered."""
        self._compactions = 0
        self._used = 0
        """The last known size of the context; it is unknown after a compaction."""
        self._chunk_heads: dict[type, bytes] = {}
        self._begin_message()
        self._handlers: dict[type, Callable[[Any], Awaitable[None] | None]] = {
            MessageStart: lambda event: self._begin_message(),
            MessageUpdate: self._on_message_update,
            MessageEnd: self._on_message_end,
            TurnEnd: self._on_turn_end,
            EntryAppended: lambda event: self.entries.publish(),
            ToolExecutionStart: self._tool_calls.begin,
            ToolExecutionUpdate: self._tool_calls.show_output,
            ToolExecutionEnd: self._on_call_end,
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
        self.entries.publish()
        self.update(
            {"sessionUpdate": "available_commands_update", "availableCommands": self._commands()}
        )
        self.choices.publish()

    def replay(self) -> None:
        """Show the whole conversation so far."""
        items = self.port.info.transcript(MOST_REPLAYED).items
        for update in updates.replay_updates(items, self.port.workspace.cwd, self._new_id):
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
            decision = None if self._cancelled else await self._run(prompt)
        except NoModel as error:
            raise RequestFailed(AUTH_REQUIRED, error.message, hint=error.hint) from error
        finally:
            self._prompting = False
            self.entries.publish()
        usage = total_usage(self.port.info.stats().tokens)
        return {"stopReason": self._stop_reason(decision), "usage": usage}

    def _stop_reason(self, decision: Next | None) -> str:
        if self._cancelled:
            return "cancelled"
        return stop_reason(self._answer, self._failures.last, decision)

    async def steer(self, prompt: PromptInput, message_id: str | None) -> Json:
        """Add a message to the running turn, once for each ``message_id``."""
        if not self._prompting or self.port.runs.idle:
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        if message_id is None or message_id not in self._steered:
            if message_id is not None:  # remembered first: it may be repeated meanwhile
                self._steered.add(message_id)
            try:
                await self.port.prompts.steer(prompt.text, prompt.images, source="rpc")
            except BaseException:
                self._steered.discard(message_id or "")
                raise
        return {"outcome": "injected"}

    async def _run(self, prompt: PromptInput) -> Next | None:
        command, _, rest = prompt.text.partition(" ")
        if command == "/compact" and not prompt.images:
            result = await self.port.compaction.compact(rest.strip())
            self._write(f"Compacted {result.tokens_before:,} tokens.\n")
            return None
        if command == "/extensions" and not self._has_command("extensions"):
            self._write(f"{await run_extensions(self.port.extensions.switches, rest)}\n")
            self.choices.publish()  # permissions and plan mode are modes of the session
            return None
        try:
            return await self.port.prompts.prompt(prompt.text, prompt.images, source="rpc")
        except asyncio.CancelledError:
            await self.port.abort()
            raise

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

    def _on_event(self, event: Any) -> Awaitable[None] | None:
        if is_nested(event):
            return self._tool_calls.show_nested(event)
        handle = self._handlers.get(type(event))
        return None if handle is None else handle(event)

    def _on_message_update(self, event: MessageUpdate) -> Awaitable[None] | None:
        return self._on_delta(event.assistant_message_event)

    def _on_message_end(self, event: MessageEnd) -> None:
        self.entries.publish()
        if isinstance(event.message, AssistantMessage):
            self._answer = event.message

    def _on_turn_end(self, event: TurnEnd) -> Awaitable[None] | None:
        # After the results: between a call and its result it would end a step of a harness.
        return self._send_usage(event.message)

    async def _on_call_end(self, event: ToolExecutionEnd) -> None:
        await self._tool_calls.end(event)
        self.choices.publish()  # a tool may leave plan mode

    def _on_info(self, event: SessionInfoChanged) -> Awaitable[None] | None:
        self.entries.publish()
        title = None if isinstance(event.name, UnsetType) else event.name
        return self.update({"sessionUpdate": "session_info_update", "title": title})

    def _on_retry(self, event: AutoRetryStart) -> None:
        from pi.ai.failures.sentence import describe_message  # deferred: few answers fail

        count = f"{event.attempt} of {event.max_attempts}"
        wait = f"{event.delay_ms / 1000:g} s"
        text, _ = describe_message(event.error_message)
        self._notify(f"{text} Retry {count} in {wait}.", "warning")

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
                return self._tool_calls.announce(event)
            case ToolCallEnd():
                return self._tool_calls.complete(event)
        return None

    # Notices and state ----------------------------------------------------------------------------

    def _notify(self, message: str, kind: NotifyKind) -> None:
        if self._quiet and kind == "info":
            return
        if self._client.notices:
            self.update({"sessionUpdate": "notice", "severity": kind, "title": message})
        else:
            # Never a part of the answer: harnesses take its text as what the model said.
            notice = {"severity": kind, "text": message}
            meta = updates.pi_meta(notice=notice)
            self.update({"sessionUpdate": "session_info_update", "_meta": meta})
            log.warning("%s", message)

    def _write(self, text: str) -> None:
        if not self._quiet:
            block = updates.text_block(text)
            self.update(updates.chunk("agent_message_chunk", block, self._new_id()))

    def _begin_message(self) -> None:
        """Build the start of the chunks of the next answer, which has an id of its own.

        Only the text of a delta is encoded: there is one for every token.
        """
        head = encode_line({"sessionId": self.id})[:-2]
        self._chunk_heads = {
            kind: b'{"jsonrpc":"2.0","method":"session/update","params":%b,"update":'
            b'{"sessionUpdate":"%b","messageId":"%b","content":{"type":"text","text":'
            % (head, name, self._new_id().encode())
            for kind, name in (
                (TextDelta, b"agent_message_chunk"),
                (ThinkingDelta, b"agent_thought_chunk"),
            )
        }

    def _send_usage(self, answer: AssistantMessage) -> Awaitable[None] | None:
        usage = self.port.info.context_usage()
        if usage is None:
            return None
        if usage.tokens is not None:
            self._used = usage.tokens
        update: Json = {"sessionUpdate": "usage_update", "used": self._used}
        update["size"] = usage.context_window
        update["_meta"] = updates.pi_meta(usage=answer.usage)
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
        self.entries.publish()
        if not self._client.compaction:
            return None
        id = f"compaction-{self._compactions}"
        update: Json = {"sessionUpdate": "compaction_update", "compactionId": id, "status": status}
        if isinstance(event, CompactionEnd):
            if not isinstance(event.result, UnsetType):
                update["summary"] = [updates.text_block(event.result.summary)]
            if not isinstance(event.error_message, UnsetType):
                from pi.ai.failures.sentence import describe_message  # deferred: rare

                update["error"] = describe_message(event.error_message)[0]
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
