"""Replaces this session with another one: new, resumed, forked, cloned, imported; reloads it.

``ReplicaFollower`` shows a remote session: it applies the items of its feed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from pi.agent.events import AgentEnd, MessageEnd, MessageStart
from pi.ai.messages import AssistantMessage, Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.errors import PiError
from pi.base.json_lines import encode_line
from pi.base.records import replace
from pi.base.tasks import off_loop
from pi.coding.compaction.measuring import prepare_conversation
from pi.coding.extension_host.events.queries import SessionBeforeForkEvent, SessionBeforeSwitchEvent
from pi.coding.extension_host.events.session import (
    ExtensionEvent,
    SessionForkEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
)
from pi.coding.models.starting import ModelPreferences, find_starting_model
from pi.coding.port.remote import FeedItem, Remote, Replica
from pi.coding.port.results import Forked, Replaced, SessionState
from pi.coding.runtime.bootstrap import Bootstrap
from pi.coding.runtime.live import LiveSession, RemoteSession
from pi.coding.runtime.session.prompts import PromptRunner
from pi.coding.runtime.session.public_events import AgentSessionEvent
from pi.coding.runtime.workspace import Workspace
from pi.coding.session import file_operations
from pi.coding.session.context import chosen_model, chosen_thinking_level
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import HAND_OFF, CustomMessage, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import (
    SessionLocation,
    new_replica,
    new_session,
    open_session,
    opened_in_thread,
)
from pi.coding.session.tool_selection import recorded_tools

SwitchReason: TypeAlias = Literal["new", "resume", "fork"]

NOT_SAVED = "This session has not been saved yet. Send a message before cloning or forking it."


class SessionSwitcher:
    """Aborts running work, then replaces the log and the workspace, and reloads extensions."""

    def __init__(
        self,
        core: LiveSession,
        bootstrap: Bootstrap,
        prompts: PromptRunner,
        *,
        stop_all: Callable[[], Awaitable[None]],
    ) -> None:
        self._core = core
        self._bootstrap = bootstrap
        self._prompts = prompts
        self._stop_all = stop_all
        """Aborts all running work, and waits for it."""
        self._choices: tuple[Model, ThinkingLevel, bool]
        """Model, level and ``has_model`` before a remote session was shown."""

    async def new(self, parent_session: str | None = None) -> Replaced:
        """Start a new session; an in-memory session stays in memory."""
        if await self._forbidden("new"):
            return Replaced(cancelled=True)
        log = new_session(self.location, parent=parent_session)
        await self._swap(log, "new")
        await self._prompts.record_model_choice()
        return Replaced(cancelled=False)

    async def switch(self, path: Path) -> Replaced:
        """Resume the session in a file, or start one in it."""
        path = self._core.workspace.cwd / path
        if await self._forbidden("resume", path):
            return Replaced(cancelled=True)
        if self._core.log.file is not None and path == self._core.log.file:
            return Replaced(cancelled=False)
        log = await opened_in_thread(partial(open_session, path), self.location)
        await self._swap(log, "resume")
        return Replaced(cancelled=False)

    async def fork(self, entry_id: str) -> Forked:
        """Fork before a user message; returns its text."""
        if entry_id not in self._core.log.tree:
            raise PiError("Invalid entry ID for forking")
        self._must_be_saved()
        event = await self._ask_to_fork(entry_id, "before")
        if event.cancelled:
            return Forked(text="", cancelled=True)
        log, text = file_operations.fork_before(self._core.log, entry_id, self.location)
        if event.skip_conversation_restore:
            log = file_operations.clone(self._core.log, self.location)
        await self._swap(log, "fork")
        return Forked(text=text, cancelled=False)

    async def fork_at(self, entry_id: str) -> Replaced:
        """Fork after an entry."""
        if entry_id not in self._core.log.tree:
            raise PiError("Invalid entry ID for forking")
        self._must_be_saved()
        event = await self._ask_to_fork(entry_id, "at")
        if event.cancelled:
            return Replaced(cancelled=True)
        last = self._core.log.leaf_id if event.skip_conversation_restore else entry_id
        log = file_operations.fork_at(self._core.log, last, self.location)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def fork_file(self, path: Path) -> Replaced:
        """Fork the session in a file, which another process may have open."""
        path = self._core.workspace.cwd / path
        if await self._forbidden("fork", path):
            return Replaced(cancelled=True)
        log = file_operations.fork_file(path, self.location)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def clone(self) -> Replaced:
        """Clone the current branch into a new session."""
        self._must_be_saved()
        if (await self._ask_to_fork(self._core.log.leaf_id, "at")).cancelled:
            return Replaced(cancelled=True)
        log = file_operations.clone(self._core.log, self.location)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def import_file(self, path: Path) -> Replaced:
        """Copy a session file into the session directory, and resume the copy."""
        return await self.switch(file_operations.import_session(path, self.location))

    async def open_replica(
        self, header: Json, remote: Remote, *, file: Path | None = None
    ) -> Replica | None:
        """Show a remote session instead of this one; ``None`` if an extension cancelled it.

        ``file`` stores a copy.
        """
        if await self._forbidden("resume", file):
            return None
        session = RemoteSession(remote)
        await self._swap(new_replica(header, self.location, file), "resume", session)
        return ReplicaFollower(self._core, session)

    async def reload(self) -> None:
        """Reload settings, resources and extensions; the conversation is kept."""
        core, bootstrap = self._core, self._bootstrap
        core.require_open()
        core.agent.require_idle()
        with self._prompts.move_gate.closed():
            await self._stop_all()
            # Before extensions are unloaded, because they may answer the trust decision.
            trust = await bootstrap.decide_trust(core.workspace.cwd)
            bootstrap.check_project_settings(core.workspace.cwd, trust)
            await core.bus.emit(SessionShutdownEvent(reason="reload"))
            default_tools = core.workspace.settings.values.default_tools
            workspace = await bootstrap.open_workspace(core.workspace.cwd, trust, core.workspace)
            await core.workspace.close()
            core.use_workspace(workspace)
            core.toolbox.move_to(workspace)
            core.toolbox.follow_defaults(default_tools)
            bootstrap.hosting.forget_modules()
            await bootstrap.hosting.load()
            await core.bus.emit(SessionStartEvent(reason="reload"))
        bootstrap.report_skipped_files()

    async def hand_off(
        self, document: str, *, go_on: bool = False, details: Json | None = None
    ) -> None:
        """Continue in a new session that starts with ``document``; ``go_on`` starts a run there."""
        more: Json | UnsetType = UNSET if details is None else details
        log = new_session(self.location, parent=self._core.log.file)
        await self._swap(log, "new")
        await self._prompts.record_model_choice()
        now_ms = self._core.machine.clock.now_ms()
        message = CustomMessage(
            custom_type=HAND_OFF, content=document, details=more, timestamp=now_ms
        )
        if not go_on:
            await self._core.append_message(message)
            return
        run = self._prompts.begin_with(message)
        if self._prompts.handed_off is not None:
            self._prompts.handed_off.run = run

    @property
    def location(self) -> SessionLocation:
        """The location of new sessions; in memory if this session is in memory."""
        location = self._bootstrap.session_location(self._core.workspace.cwd)
        if self._core.log.file is None and self._core.remote is None:
            return replace(location, directory=None)
        return location

    def _must_be_saved(self) -> None:
        if self._core.log.file is not None and not self._core.log.is_saved:
            raise PiError(NOT_SAVED)

    async def _forbidden(self, reason: SwitchReason, target: Path | None = None) -> bool:
        self._core.require_open()
        question = SessionBeforeSwitchEvent(reason=reason, target_session_file=_path_text(target))
        return (await self._core.bus.query(question)).cancelled

    async def _ask_to_fork(
        self, id: str | None, position: Literal["before", "at"]
    ) -> SessionBeforeForkEvent:
        self._core.require_open()
        event = await self._core.bus.query(SessionBeforeForkEvent(entry_id=id, position=position))
        if event.cancelled or not await self._forbidden("fork"):
            return event
        return replace(event, cancelled=True)

    async def _swap(
        self, log: SessionLog, reason: SwitchReason, remote: RemoteSession | None = None
    ) -> None:
        """Close this session and open ``log``; prompts of the user wait until it is open."""
        with self._prompts.move_gate.closed():
            await self._stop_all()
            previous = _path_text(self._core.log.file) if self._core.log.is_saved else None
            await self._replace_log(log, reason, remote)
            await self._bootstrap.hosting.load()
            bus = self._core.bus
            await bus.emit(SessionSwitchEvent(reason=reason, previous_session_file=previous))
            if reason == "fork":
                await bus.emit(SessionForkEvent(previous_session_file=previous))
            await bus.emit(SessionStartEvent(reason=reason, previous_session_file=previous))
        self._bootstrap.report_skipped_files()
        self._bootstrap.hosting.report_switched_off()

    async def _replace_log(
        self, log: SessionLog, reason: SwitchReason, remote: RemoteSession | None
    ) -> None:
        core = self._core
        cwd = Path(log.header.cwd)
        if remote is not None or not cwd.is_dir():
            cwd = core.workspace.cwd
        try:
            # Decided again even for the same directory: extensions are reloaded, and files may have
            # been added. Decided before extensions are unloaded, because they may answer.
            trust = await self._bootstrap.decide_trust(cwd)
            self._bootstrap.check_project_settings(cwd, trust)
            await core.bus.emit(
                SessionShutdownEvent(reason=reason, target_session_file=_path_text(log.file))
            )
            workspace = await self._bootstrap.workspace_under(trust, cwd, core.workspace)
            conversation = SessionConversation(log)
            await prepare_conversation(conversation)
            await self._work_in(workspace)
            # An extension may have started a run meanwhile: its prompts do not wait at the gate.
            core.agent.abort()
            await core.agent.wait_for_idle()
        except BaseException:
            log.close()
            raise
        core.log.close()
        # The fork of a session without a file takes over its artifacts: the session itself is gone.
        is_fork_in_memory = reason == "fork" and log.file is None and core.log.file is None
        artifacts = core.artifacts if is_fork_in_memory else None
        core.replace_conversation(conversation, artifacts=artifacts)
        core.toolbox.resume(await off_loop(partial(recorded_tools, log), len(log.tree)))
        core.agent.reset(core.conversation)
        core.began = core.machine.clock.monotonic()
        await self._follow(remote)

    async def _work_in(self, workspace: Workspace) -> None:
        core, before = self._core, self._core.workspace
        core.use_workspace(workspace)
        if workspace.local is not before.local:  # not reused
            await before.close()
            core.toolbox.move_to(workspace)

    async def _follow(self, remote: RemoteSession | None) -> None:
        """Set the remote side. Without one, apply model and thinking level of the log."""
        core = self._core
        if core.remote is not None:
            core.remote.closed = True
            core.agent.model, core.agent.thinking_level, core.has_model = self._choices
        core.remote = remote
        if remote is None:
            await self._restore_choices()
        else:
            self._choices = (core.agent.model, core.agent.thinking_level, core.has_model)

    async def _restore_choices(self) -> None:
        """Apply model and thinking level of the log, if they are available."""
        core, chosen = self._core, chosen_model(self._core.log)
        if chosen is None:
            return
        level, values = chosen_thinking_level(core.log), core.workspace.settings.values
        if level is None:
            named = f"{chosen.provider}/{chosen.model_id}"
            level = values.model_thinking_levels.get(named, values.default_thinking_level)
        preferences = ModelPreferences(
            session=(chosen.provider, chosen.model_id),
            session_thinking=level,  # type: ignore[arg-type]
            default=(core.agent.model.provider, core.agent.model.id),
            default_thinking=core.agent.thinking_level,
        )
        start = await find_starting_model(preferences, core.registry)
        if start.model is not None:
            core.agent.model, core.agent.thinking_level = start.model, start.thinking
            core.has_model = True
        if start.note:
            core.machine.report(start.note)


def _path_text(path: Path | None) -> str | None:
    return None if path is None else str(path)


_BUSY: Final = {"agent_start": True, "agent_settled": False}


class ReplicaFollower:
    """Implements ``Replica``: appends received lines to the log, and emits received events."""

    def __init__(self, core: LiveSession, remote: RemoteSession) -> None:
        self._core = core
        self._remote = remote
        self._log = core.log

    @property
    def closed(self) -> bool:
        """Whether another session has replaced it."""
        return self._remote.closed

    async def receive(self, item: FeedItem | Json) -> None:
        """Apply one item; items of unknown kinds are ignored."""
        if self.closed:
            return
        kind, data = (item.kind, item.data) if isinstance(item, FeedItem) else _fields(item)
        match kind:
            case "snapshot":
                await self._begin(data)
            case "entry":
                self._adopt(data)
            case "leaf":
                await self._move_to(data)
            case "state":
                self._apply_state(data)
            case "event":
                await self._emit(data)

    async def _begin(self, data: Json) -> None:
        """Apply a snapshot."""
        for entry in data["entries"]:
            if entry["id"] not in self._log.tree:
                self._adopt(entry)
        state = data.get("state") or {}
        self._apply_state(state)
        self._remote.busy = state.get("isStreaming") is True
        await self._move_to(data["leafId"])
        if partial := data.get("partial"):
            await self._core.agent.emit(MessageStart(message=_message(partial)))

    async def _move_to(self, id: str | None) -> None:
        """Move the leaf like the remote side, and emit the move."""
        before = self._log.leaf_id
        self._log.move_to(id)
        await self._core.bus.emit(SessionTreeEvent(new_leaf_id=id, old_leaf_id=before))

    def _adopt(self, entry: Json | bytes | str) -> None:
        if isinstance(entry, dict):
            line = encode_line(entry)
        else:
            line = entry.encode() if isinstance(entry, str) else entry
        self._log.adopt(line)

    def _apply_state(self, data: Json) -> None:
        """Apply model and thinking level of the remote side."""
        if not data:
            return
        state = msgspec.convert(data, SessionState)
        agent = self._core.agent
        if isinstance(state.model, msgspec.UnsetType):
            self._core.has_model = False
        else:
            agent.model, self._core.has_model = state.model, True
        agent.thinking_level = state.thinking_level

    async def _emit(self, data: Json) -> None:
        event = _event(data)
        self._remote.busy = _BUSY.get(str(data.get("type")), self._remote.busy)
        if event is not None:
            await self._core.agent.emit(event)


def _fields(item: Json) -> tuple[Any, Any]:
    return item.get("kind"), item.get("data")


@cache
def _events() -> Any:
    """Return the union of all events that a feed may have."""
    return AgentSessionEvent | ExtensionEvent


def _event(data: Json) -> Any:
    """Decode an event; ``None`` if it is unknown."""
    try:
        event = msgspec.convert(data, _events())
    except msgspec.ValidationError:
        return None
    match event:
        case MessageStart(message=dict() as message) | MessageEnd(message=dict() as message):
            return type(event)(message=_message(message))
        case AgentEnd(messages=messages, will_retry=will_retry):
            return AgentEnd(messages=tuple(map(_message, messages)), will_retry=will_retry)
        case _:
            return event


def _message(data: Json) -> SessionMessage | AssistantMessage:
    message: SessionMessage = msgspec.convert(data, SessionMessage)
    return message
