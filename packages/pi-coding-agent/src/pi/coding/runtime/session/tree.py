"""Moves the leaf within a session, with an optional summary of the abandoned branch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import UNSET

from pi.agent.compaction.budget import CompactionItem, CompactionSettings
from pi.agent.compaction.compact import summarise_branch
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.summarise import Ask, SummaryInstructions
from pi.agent.policy import Abort, Aborted
from pi.ai.messages import UserMessage
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.compaction.measuring import branch_items
from pi.coding.compaction.options import BranchSummaryOptions
from pi.coding.extension_host.events.queries import Notes, SessionBeforeTreeEvent, TreeMove
from pi.coding.extension_host.events.session import SessionTreeEvent
from pi.coding.port.results import Navigated
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.compaction import Summaries
from pi.coding.runtime.session.prompts import PromptGate
from pi.coding.session.entries import BranchSummary, Compaction, Entry, Label
from pi.coding.session.log import SessionLog
from pi.coding.session.views import landing


class TreeMoves:
    """Moves the leaf; the summary of a move can be aborted."""

    def __init__(
        self,
        core: LiveSession,
        summaries: Summaries,
        gate: PromptGate,
        *,
        stop_all: Callable[[], Awaitable[None]],
    ) -> None:
        self._core = core
        self._summaries = summaries
        self._gate = gate
        """Holds prompts back until the leaf has moved."""
        self._stop_all = stop_all
        self._abort: Abort | None = None

    @property
    def busy(self) -> bool:
        """Whether a summary is being written."""
        return self._abort is not None

    def abort(self) -> None:
        """Abort the summary; the leaf does not move."""
        if self._abort is not None:
            self._abort.request()

    async def go_to(
        self,
        id: str,
        *,
        summarize: bool = False,
        instructions: str = "",
        replace_instructions: bool = False,
        label: str = "",
    ) -> Navigated:
        """Move the leaf to an entry. Raises ``PiError`` if it does not exist.

        If the target is a user message, the result has its text for editing.
        """
        core = self._core
        if id not in core.log.tree:
            raise PiError(f"Entry not found: {id}")
        core.require_local("move in its tree")
        with self._gate.closed():
            await self._stop_all()
            move = replace(
                tree_move(core.log, id),
                user_wants_summary=summarize,
                custom_instructions=instructions,
                replace_instructions=replace_instructions,
                label=label,
            )
            return await self._go(move, summarize=summarize)

    async def _go(self, move: TreeMove, *, summarize: bool) -> Navigated:
        event = await self._core.bus.query(SessionBeforeTreeEvent(preparation=move))
        if event.decision.cancel:
            return Navigated(cancelled=True)
        # If the user chose "No summary", a summary of an extension is ignored as well.
        ready = event.decision.summary if summarize else None
        move = event.decided_move
        try:
            notes = ready or await self._notes(move, enabled=summarize)
        except Aborted:
            return Navigated(cancelled=True, aborted=True)
        return await self._move(move, notes, from_hook=ready is not None)

    async def _notes(self, move: TreeMove, *, enabled: bool) -> Notes | None:
        core = self._core
        if not enabled or not move.entries or not core.has_model:
            return None
        options = core.workspace.settings.section(("branchSummary",), BranchSummaryOptions)
        model = core.agent.model
        self._abort = Abort(core.machine.clock)

        async def write() -> Notes | None:
            try:
                ask = self._summaries.ask(model, "branchSummary")
                return await notes_on(move, core.log, ask, options, model=model)
            except CompactionFailed as error:
                if error.code == "nothing_to_compact":
                    return None
                raise

        try:
            return await self._abort.wait(write)
        finally:
            self._abort = None

    async def _move(self, move: TreeMove, notes: Notes | None, *, from_hook: bool) -> Navigated:
        core = self._core
        destination = landing(core.log, move.target_id)
        core.log.move_to(destination.leaf_id)
        summary = None
        if notes is not None:
            draft = BranchSummary(
                from_id=move.old_leaf_id or "root",
                summary=notes.summary,
                details=notes.details,
                usage=notes.usage,
                from_hook=from_hook,
            )
            summary = await core.append_entry(draft)
        if move.label:
            target = summary.id if summary else move.target_id
            await core.add(Label(target_id=target, label=move.label or UNSET))
        moved = SessionTreeEvent(
            new_leaf_id=core.log.leaf_id,
            old_leaf_id=move.old_leaf_id,
            summary_entry=summary if isinstance(summary, BranchSummary) else None,
            from_extension=from_hook,
        )
        await core.bus.emit(moved)
        return Navigated(text=destination.text, summary_id=summary.id if summary else None)


def tree_move(log: SessionLog, target: str) -> TreeMove:
    """Return the move to ``target``, with the entries of the branch that it leaves."""
    old, new = log.tree.path(log.leaf), log.tree.path(log.tree.place(target))
    shared = set(new)
    abandoned = [position for position in old if position not in shared]
    common = [position for position in old if position in shared]
    return TreeMove(
        target_id=target,
        old_leaf_id=log.leaf_id,
        common_ancestor_id=log.tree.outlines[common[-1]].id if common else None,
        entries=tuple(log.at(position) for position in abandoned),
    )


async def notes_on(
    move: TreeMove,
    log: SessionLog,
    ask: Ask,
    options: BranchSummaryOptions,
    *,
    model: Model,
) -> Notes:
    """Return a summary of the branch that ``move`` leaves; raises ``CompactionFailed``."""
    abandoned = {entry.id: entry for entry in move.entries}
    path = log.tree.path(log.leaf)
    branch = branch_items(log, path)
    items = [_with_summary(item, abandoned[item.id]) for item in branch if item.id in abandoned]
    custom = move.custom_instructions
    guidance = SummaryInstructions(
        custom_instructions="" if move.replace_instructions else custom,
        prompt=custom if move.replace_instructions else "",
    )
    settings = CompactionSettings(reserve_tokens=options.reserve_tokens)
    result = await summarise_branch(items, ask, settings, model=model, guidance=guidance)
    return Notes(
        summary=result.summary, details=msgspec.to_builtins(result.details), usage=result.usage
    )


def _with_summary(item: CompactionItem, entry: Entry) -> CompactionItem:
    """Return ``item``; the item of a compaction gets its summary as message."""
    if not isinstance(entry, Compaction):
        return item
    details = entry.details if isinstance(entry.details, dict) and not entry.from_hook else None
    summary = UserMessage(content=entry.summary)
    return replace(item, role="compactionSummary", message=summary, details=details)
