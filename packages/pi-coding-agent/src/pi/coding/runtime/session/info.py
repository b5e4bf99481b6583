"""Read-only queries about a session: state, statistics, commands; also its name and labels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from pi.ai.messages import AssistantMessage
from pi.ai.plan_limits import PlanLimit
from pi.base.errors import PiError
from pi.base.tasks import LARGE
from pi.coding.compaction.measuring import prepare_conversation, tokens_in_use
from pi.coding.extension_host.events.session import SessionInfoChanged
from pi.coding.port.results import Command, ForkPoint, SessionState
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.compaction import CompactionControl
from pi.coding.session.context import messages_json
from pi.coding.session.counts import EntryCounts
from pi.coding.session.display import DisplayTranscript, display_transcript
from pi.coding.session.entries import (
    Compaction,
    Custom,
    Label,
    MessageEntry,
    SessionInfo,
    SessionMessage,
)
from pi.coding.session.statistics import ContextUsage, SessionStats
from pi.coding.session.views import TreeNode, input_text, public_line, session_tree, tree_json
from pi.coding.session.writing import clean_name


def session_stats(core: LiveSession, counts: EntryCounts) -> SessionStats:
    """Return counts and cost of the whole file: all branches, including compacted entries."""
    totals = counts.update()
    file, kinds = core.log.file, totals.messages
    return SessionStats(
        session_file=UNSET if file is None else str(file),
        session_id=core.log.header.id,
        user_messages=kinds.get("user", 0),
        assistant_messages=kinds.get("assistant", 0),
        tool_calls=totals.tool_calls,
        tool_results=kinds.get("toolResult", 0),
        total_messages=sum(kinds.values()),
        tokens=totals.tokens,
        cost=totals.cost,
        context_usage=context_usage(core) or UNSET,
    )


def context_usage(core: LiveSession) -> ContextUsage | None:
    """Return the usage of the context window; ``None`` without a model or a known window.

    Its tokens are ``None`` after a compaction until the next answer.
    """
    window = core.agent.model.context_window
    if not core.has_model or window <= 0:
        return None
    if _compacted_since_answer(core):
        return ContextUsage(tokens=None, context_window=window, percent=None)
    tokens = tokens_in_use(core.conversation)
    return ContextUsage(tokens=tokens, context_window=window, percent=tokens / window * 100)


def session_state(core: LiveSession, *, compacting: bool, auto_compaction: bool) -> SessionState:
    """Return the current state."""
    inbox = core.agent.inbox
    return SessionState(
        model=core.agent.model if core.has_model else UNSET,
        thinking_level=core.agent.thinking_level,
        is_streaming=core.busy,
        is_compacting=compacting,
        steering_mode=inbox.steering_mode,
        follow_up_mode=inbox.follow_up_mode,
        session_file=UNSET if core.log.file is None else str(core.log.file),
        session_id=core.log.header.id,
        session_name=core.log.name or UNSET,
        auto_compaction_enabled=auto_compaction,
        message_count=len(core.conversation.messages()),
        pending_message_count=len(inbox.steering) + len(inbox.follow_ups),
    )


def last_answer_text(core: LiveSession) -> str | None:
    """Return the text of the newest answer that has text, or ``None``."""
    for message in reversed(core.conversation.messages()):
        if isinstance(message, AssistantMessage) and message.text:
            return message.text
    return None


def _compacted_since_answer(core: LiveSession) -> bool:
    log, outlines, cache = core.log, core.log.tree.outlines, core.conversation.compacted
    is_compacted = False
    for position in log.tree.upwards(log.leaf):
        if position in cache:
            is_compacted = cache[position]
            break
        if outlines[position].type == "compaction" or log.may_be_answer(position):
            match log.at(position):
                case Compaction():
                    is_compacted = True
                    break
                case MessageEntry(message=AssistantMessage(usage=usage)) if usage.total_tokens:
                    break
    if log.leaf is not None:
        cache[log.leaf] = is_compacted
    return is_compacted


def listed_commands(core: LiveSession) -> list[Command]:
    """Return the commands of extensions, then templates and skills, in RPC's format.

    A replica has only commands of extensions: templates are those of the remote side.
    """
    return list(_commands(core))


def _commands(core: LiveSession) -> Iterator[Command]:
    for name, command in core.extensions.commands(core.template_names()):
        if command.needs_run_here and core.remote is not None:
            continue
        yield Command(
            name=name,
            description=command.description or UNSET,
            source="extension",
            source_info=command.source,
        )
    if core.remote is not None:
        return
    resources = core.workspace.resources
    for template in resources.prompts:
        yield Command(
            name=template.name,
            description=template.description or UNSET,
            source="prompt",
            source_info=template.source,
        )
    for skill in resources.skills:
        yield Command(
            name=f"skill:{skill.skill.name}",
            description=skill.skill.description,
            source="skill",
            source_info=skill.source,
        )


class SessionQueries:
    """Queries of the current state; none of them waits for the agent."""

    def __init__(self, core: LiveSession, compaction: CompactionControl) -> None:
        self._core = core
        self._compaction = compaction
        self._counts = EntryCounts(core.log)

    async def prepare(self) -> None:
        """Decode, measure and count a long session in a thread, for the screen that shows it."""
        conversation = self._core.conversation
        await prepare_conversation(conversation)
        if len(conversation.log.tree) > LARGE:
            counts = EntryCounts(conversation.log)
            await asyncio.to_thread(session_stats, self._core, counts)
            self._counts = counts

    @property
    def cwd(self) -> Path:
        """The working directory; another one than the session's if that no longer exists."""
        core = self._core
        return core.workspace.cwd if core.remote is None else Path(core.log.header.cwd)

    @property
    def runs_here(self) -> bool:
        """Whether the session runs in this process; False for a replica."""
        return self._core.remote is None

    def state(self) -> SessionState:
        """Return the current state."""
        compaction = self._compaction
        return session_state(
            self._core, compacting=compaction.busy, auto_compaction=compaction.automatic
        )

    def stats(self) -> SessionStats:
        """Return token counts and cost."""
        if self._counts.log is not self._core.log:
            self._counts = EntryCounts(self._core.log)
        return session_stats(self._core, self._counts)

    def context_usage(self) -> ContextUsage | None:
        """Return the usage of the context window; ``None`` without a model."""
        return context_usage(self._core)

    def plan_limits(self) -> tuple[PlanLimit, ...]:
        """Return the plan limits that the model's provider reported last."""
        return self._core.plan_limits.get(self._core.agent.model.provider, ())

    def credential_source(self) -> str:
        """Return the origin of the model's credentials if an extension supplies them, else ""."""
        return self._core.registry.models.credential_source(self._core.agent.model.provider)

    def messages(self) -> Sequence[SessionMessage]:
        """Return the messages of the model's context, including system messages."""
        return self._core.conversation.messages()

    def messages_json(self) -> Sequence[Any]:
        """Return the same messages for clients: as they are in the file, with unknown fields."""
        return messages_json(self._core.log)

    def transcript(
        self,
        most: int,
        shows: Callable[[Custom], bool] | None = None,
        *,
        end: int | None = None,
    ) -> DisplayTranscript:
        """Return the newest ``most`` messages of the branch for display, compacted ones included.

        ``end`` is the position of an earlier transcript: the messages before it are returned.
        """
        return display_transcript(self._core.log, most, shows, end=end)

    def entries(self, since: str | None = None) -> list[msgspec.Raw]:
        """Return every entry in its file form, or those after ``since``; raises ``PiError``."""
        log = self._core.log
        if since is not None and since not in log.tree:
            raise PiError(f"Entry not found: {since}")
        first = 0 if since is None else log.tree.place(since) + 1
        return [
            msgspec.Raw(public_line(log, position))
            for position in range(first, len(log.tree.outlines))
        ]

    def tree(self) -> list[TreeNode]:
        """Return the roots of the tree."""
        return session_tree(self._core.log)

    def tree_json(self) -> msgspec.Raw:
        """Return the roots of the tree with their entries, in RPC's format."""
        return msgspec.Raw(tree_json(self._core.log))

    def fork_points(self, most: int | None = None) -> list[ForkPoint]:
        """Return the newest ``most`` user messages of all branches, or all, in file order."""
        log = self._core.log
        prompts = log.latest_prompts(len(log.tree) if most is None else most)
        return [ForkPoint(entry_id=entry.id, text=input_text(entry) or "") for entry in prompts]

    @property
    def has_unread_history(self) -> bool:
        """Whether a part of the session file has not been read yet."""
        return self._core.log.tree.first > 0

    async def read_history(self) -> None:
        """Read all of the session in a thread: what lists its entries then does not block."""
        if self.has_unread_history:
            await asyncio.to_thread(self._core.log.tree.load)

    def last_answer(self) -> str | None:
        """Return the text of the newest answer that has text, or ``None``."""
        return last_answer_text(self._core)

    def commands(self) -> list[Command]:
        """Return all slash commands."""
        return listed_commands(self._core)

    async def rename(self, name: str) -> None:
        """Rename the session. Raises ``PiError`` for an empty name."""
        name = clean_name(name)
        if not name:
            raise PiError("Session name cannot be empty")
        await self._core.add(SessionInfo(name=name))
        await self._core.agent.emit(SessionInfoChanged(name=name))

    async def label(self, id: str, label: str | None) -> None:
        """Set or remove the label of an entry."""
        if id not in self._core.log.tree:
            raise PiError(f"Entry not found: {id}")
        await self._core.add(Label(target_id=id, label=label or UNSET))
