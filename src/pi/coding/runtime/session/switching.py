"""Replaces this session by another one: new, resumed, forked, cloned or imported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias

from pi.ai.messages import Json
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.blobs.artifacts import copy_artifacts
from pi.coding.extension_host.events.session import (
    BeforeFork,
    BeforeSwitch,
    SessionEnding,
    SessionStarted,
    Switched,
)
from pi.coding.models.starting import ModelPreferences, find_starting_model
from pi.coding.port.results import Forked, Replaced
from pi.coding.runtime.live import LiveSession, RemoteSession
from pi.coding.runtime.workspace import Workspace
from pi.coding.session import file_operations
from pi.coding.session.context import chosen_model, chosen_thinking_level
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import CustomMessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_replica, new_session, open_session
from pi.coding.trust import Trust

SwitchReason: TypeAlias = Literal["new", "resume", "fork"]

NOT_SAVED = (
    "This session has not been saved yet."
    " Wait for the first assistant response before cloning or forking it."
)


class SessionSwitcher:
    """Stops what is running, then swaps the log and everything that depends on its directory."""

    def __init__(
        self,
        core: LiveSession,
        *,
        location: Callable[[Path], SessionLocation],
        stop_all: Callable[[], Awaitable[None]],
        decide_trust: Callable[[Path], Awaitable[Trust]],
        workspace_under: Callable[[Trust, Path, Workspace], Awaitable[Workspace]],
        record_model_choice: Callable[[], Awaitable[None]],
        begun: Callable[[], None],
    ) -> None:
        self._core = core
        self._location = location
        self._stop_all = stop_all
        """Aborts everything that is running, and waits for it."""
        self._decide_trust = decide_trust
        self._workspace_under = workspace_under
        self._note_choices = record_model_choice
        self._begun = begun
        """Called once the next session is in place."""
        self._choices: tuple[Model, ThinkingLevel, bool]
        """Model, level and scope before a remote session was shown."""

    async def new(self, parent_session: str | None = None) -> Replaced:
        """Start a new session; an in-memory session stays in memory."""
        if await self._forbidden("new"):
            return Replaced(cancelled=True)
        log = new_session(self.location, parent=parent_session)
        await self._swap(log, "new")
        await self._note_choices()
        return Replaced(cancelled=False)

    async def switch(self, path: Path) -> Replaced:
        """Resume the session in a file, or start one there."""
        path = self._core.workspace.cwd / path
        if await self._forbidden("resume", path):
            return Replaced(cancelled=True)
        if self._core.log.file is not None and path == self._core.log.file:
            return Replaced(cancelled=False)
        log = open_session(path, self.location)
        await self._swap(log, "resume")
        return Replaced(cancelled=False)

    async def fork(self, entry_id: str) -> Forked:
        """Fork before a user message; returns its text."""
        if entry_id not in self._core.log.tree:
            raise PiError("Invalid entry ID for forking")
        self._must_be_saved()
        asked = await self._ask_to_fork(entry_id, "before")
        if asked.cancelled:
            return Forked(text="", cancelled=True)
        log, text = file_operations.fork_before(self._core.log, entry_id, self.location)
        if asked.keep_conversation:
            log = file_operations.clone(self._core.log, self.location)
        _give_artifacts(self._core.log.file, log)
        await self._swap(log, "fork")
        return Forked(text=text, cancelled=False)

    async def fork_at(self, entry_id: str) -> Replaced:
        """Fork after an entry."""
        if entry_id not in self._core.log.tree:
            raise PiError("Invalid entry ID for forking")
        self._must_be_saved()
        asked = await self._ask_to_fork(entry_id, "at")
        if asked.cancelled:
            return Replaced(cancelled=True)
        last = self._core.log.leaf_id if asked.keep_conversation else entry_id
        log = file_operations.fork_at(self._core.log, last, self.location)
        _give_artifacts(self._core.log.file, log)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def fork_file(self, path: Path) -> Replaced:
        """Fork the session in a file, which another process may have open."""
        path = self._core.workspace.cwd / path
        if await self._forbidden("fork", path):
            return Replaced(cancelled=True)
        log = file_operations.fork_file(path, self.location)
        _give_artifacts(path, log)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def clone(self) -> Replaced:
        """Clone the current branch into a new session."""
        self._must_be_saved()
        if (await self._ask_to_fork(self._core.log.leaf_id, "at")).cancelled:
            return Replaced(cancelled=True)
        log = file_operations.clone(self._core.log, self.location)
        _give_artifacts(self._core.log.file, log)
        await self._swap(log, "fork")
        return Replaced(cancelled=False)

    async def import_file(self, path: Path) -> Replaced:
        """Copy a session file into the session directory, and resume the copy."""
        from pi.coding.session.file_operations import (
            import_session,  # lazy: imports forking, moving and locking
        )

        return await self.switch(import_session(path, self.location))

    async def show(self, header: Json, remote: RemoteSession) -> bool:
        """Show a remote session instead of this one. Returns False if an extension cancelled it."""
        if await self._forbidden("resume"):
            return False
        await self._swap(new_replica(header, self.location.stamps), "resume", remote)
        return True

    async def hand_off(self, document: str) -> None:
        """Continue in a new session that starts with ``document``."""
        log = new_session(self.location, parent=self._core.log.file)
        await self._swap(log, "new")
        await self._note_choices()
        handed = CustomMessageEntry(custom_type="handoff", content=document, display=True)
        await self._core.add(handed)

    @property
    def location(self) -> SessionLocation:
        """Return where new sessions are stored: beside this one, or in memory like this one."""
        location = self._location(self._core.workspace.cwd)
        if self._core.log.file is None and self._core.remote is None:
            return replace(location, directory=None)
        return location

    def _must_be_saved(self) -> None:
        if self._core.log.file is not None and not self._core.log.is_saved:
            raise PiError(NOT_SAVED)

    async def _forbidden(self, reason: SwitchReason, target: Path | None = None) -> bool:
        question = BeforeSwitch(reason=reason, target_session_file=target)
        return (await self._core.bus.query(question)).cancelled

    async def _ask_to_fork(self, id: str | None, position: Literal["before", "at"]) -> BeforeFork:
        asked = await self._core.bus.query(BeforeFork(entry_id=id, position=position))
        if asked.cancelled or not await self._forbidden("fork"):
            return asked
        return replace(asked, cancelled=True)

    async def _swap(
        self, log: SessionLog, reason: SwitchReason, remote: RemoteSession | None = None
    ) -> None:
        core = self._core
        await self._stop_all()
        previous = core.log.file if core.log.is_saved else None
        cwd = Path(log.header.cwd)
        if remote is not None or not cwd.is_dir():
            cwd = core.workspace.cwd
        try:
            # Also if the directory stays the same: extensions are loaded again, and files may have
            # been added since trust was decided. Decided while the extensions are loaded that may
            # answer.
            trust = await self._decide_trust(cwd)
            await core.bus.emit(SessionEnding(reason=reason, target_session_file=log.file))
            await self._work_in(await self._workspace_under(trust, cwd, core.workspace))
        except BaseException:
            log.close()
            raise
        core.log.close()
        core.replace_conversation(SessionConversation(log))
        core.agent.reset(core.conversation)
        core.began = core.machine.clock.monotonic()
        await self._follow(remote)
        await core.bus.emit(Switched(reason=reason, previous_session_file=previous))
        await core.bus.emit(SessionStarted(reason=reason, previous_session_file=previous))
        self._begun()

    async def _work_in(self, workspace: Workspace) -> None:
        core, before = self._core, self._core.workspace
        core.use_workspace(workspace)
        if workspace.shell is not before.shell:  # opened again
            await before.close()
            core.toolbox.move_to(workspace)

    async def _follow(self, remote: RemoteSession | None) -> None:
        """Apply model and thinking level of the log, or those of the remote side."""
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
        core, known = self._core, chosen_model(self._core.log)
        if known is None:
            return
        level, values = chosen_thinking_level(core.log), core.workspace.values
        if level is None:
            named = f"{known.provider}/{known.model_id}"
            level = values.model_thinking_levels.get(named, values.default_thinking_level)
        preferences = ModelPreferences(
            session=(known.provider, known.model_id),
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


def _give_artifacts(source: Path | None, fork: SessionLog) -> None:
    """Copy the artifacts that the entries of a fork refer to."""
    if source is not None and fork.file is not None:
        copy_artifacts(source, fork.file)
