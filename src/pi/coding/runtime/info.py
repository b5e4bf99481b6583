"""Questions about a session, and its name and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from pi.ai.messages import UserMessage
from pi.base.errors import PiError
from pi.base.records import UNSET
from pi.coding.runtime.commands import Command, listed_commands
from pi.coding.runtime.compaction import Compacting
from pi.coding.runtime.core import Core
from pi.coding.runtime.counting import EntryCounts
from pi.coding.runtime.events import SessionInfoChanged
from pi.coding.runtime.results import ForkPoint, SessionState
from pi.coding.runtime.stats import (
    context_usage,
    last_answer_text,
    session_state,
    session_stats,
)
from pi.coding.session.context import DisplayTranscript, display_transcript
from pi.coding.session.entries import Custom, Label, MessageEntry, SessionHeader, SessionInfo
from pi.coding.session.messages import SessionMessage
from pi.coding.session.naming import clean_name
from pi.coding.session.navigation import spoken_text
from pi.coding.session.numbers import ContextUsage, SessionStats
from pi.coding.session.tree_view import TreeNode, session_tree, tree_json


class SessionFacts:
    """Reads the session as it is; nothing here waits for the agent."""

    def __init__(self, core: Core, compaction: Compacting) -> None:
        self._core = core
        self._compaction = compaction
        self._counts = EntryCounts(core.log)

    @property
    def header(self) -> SessionHeader:
        """The first line of the session."""
        return self._core.log.header

    @property
    def cwd(self) -> Path:
        """Where commands run: the session's folder, or another one if that is gone."""
        core = self._core
        return core.workspace.cwd if core.elsewhere is None else Path(core.log.header.cwd)

    @property
    def file(self) -> Path | None:
        """Where it is kept; ``None`` in memory."""
        return self._core.log.file

    @property
    def is_saved(self) -> bool:
        """Whether there is a file yet."""
        return self._core.log.is_saved

    @property
    def problem(self) -> str | None:
        """Why its file lacks the latest entries, if it does."""
        return self._core.log.problem

    @property
    def runs_here(self) -> bool:
        """Whether it is not only shown here."""
        return self._core.elsewhere is None

    def state(self) -> SessionState:
        """What the session is at this moment."""
        compaction = self._compaction
        return session_state(
            self._core, compacting=compaction.busy, auto_compaction=compaction.automatic
        )

    def stats(self) -> SessionStats:
        """The session in numbers."""
        if self._counts.log is not self._core.log:
            self._counts = EntryCounts(self._core.log)
        return session_stats(self._core, self._counts)

    def context_usage(self) -> ContextUsage | None:
        """How full the window is."""
        return context_usage(self._core)

    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown, system messages included."""
        return self._core.conversation.messages()

    def transcript(
        self,
        most: int,
        shows: Callable[[Custom], bool] | None = None,
        *,
        end: int | None = None,
    ) -> DisplayTranscript:
        """What a screen shows of the branch: its newest ``most`` messages, compacted or not.

        ``end`` is that of a transcript read before, whose earlier messages are wanted.
        """
        return display_transcript(self._core.log, most, shows, end=end)

    def entries(self, since: str | None = None) -> list[msgspec.Raw]:
        """Every entry as the file has it, or those after ``since``."""
        log = self._core.log
        if since is not None and since not in log.tree:
            raise PiError(f"Entry not found: {since}")
        first = 0 if since is None else log.tree.place(since) + 1
        return [
            msgspec.Raw(log.line(place).removesuffix(b"\n"))
            for place in range(first, len(log.tree))
        ]

    def tree(self) -> list[TreeNode]:
        """The roots of the tree."""
        return session_tree(self._core.log)

    def tree_json(self) -> msgspec.Raw:
        """The roots of the tree with their entries, as RPC tells them."""
        return msgspec.Raw(tree_json(self._core.log))

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        return self._core.log.leaf_id

    def fork_points(self) -> list[ForkPoint]:
        """What the user said on all branches, in the order of the file."""
        log = self._core.log
        said = (log.at(at) for at, known in enumerate(log.tree.outlines) if known.type == "message")
        return [
            ForkPoint(entry_id=entry.id, text=spoken_text(entry) or "")
            for entry in said
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)
        ]

    def last_answer(self) -> str | None:
        """The words of the newest answer that has some."""
        return last_answer_text(self._core)

    def commands(self) -> list[Command]:
        """What can be typed behind a slash."""
        return listed_commands(self._core)

    async def rename(self, name: str) -> None:
        """Call the session something else."""
        name = clean_name(name)
        if not name:
            raise PiError("Session name cannot be empty")
        await self._core.add(SessionInfo(name=name))
        await self._core.tell(SessionInfoChanged(name=name))

    async def label(self, id: str, label: str | None) -> None:
        """Put a label on an entry, or take it off."""
        if id not in self._core.log.tree:
            raise PiError(f"Entry not found: {id}")
        await self._core.add(Label(target_id=id, label=label or UNSET))
