"""What the systems below tell and ask over the bus, as the events of extensions."""

from __future__ import annotations

from pi.coding.bus import Bus
from pi.coding.compaction.branches import BeforeTree, TreeDecision, TreeMoved
from pi.coding.compaction.events import (
    BeforeCompact,
    CompactDecision,
    Compacted,
    CompactFailed,
    Compacting,
    CompactingAnswer,
)
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.session_events import (
    ProjectTrustEvent,
    SessionBeforeCompactEvent,
    SessionBeforeTreeEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionTreeEvent,
)
from pi.coding.trust.trust import ProjectTrust, TrustAnswer


def connect(bus: Bus, hooks: Hooks) -> None:
    """Have extensions hear what trust, compaction and moves in the tree tell and ask."""

    async def trust(question: ProjectTrust) -> TrustAnswer:
        return (await hooks.ask(ProjectTrustEvent(cwd=question.cwd))).decision

    async def before_compact(question: BeforeCompact) -> CompactDecision | None:
        if not hooks.heard(SessionBeforeCompactEvent):
            return None
        asked = SessionBeforeCompactEvent(
            preparation=question.preparation,
            branch_entries=question.branch,
            custom_instructions=question.instructions,
            reason=question.reason,
            will_retry=question.will_retry,
        )
        return (await hooks.ask(asked)).decision

    async def compacting(question: Compacting) -> CompactingAnswer:
        return (await hooks.ask(SessionCompactingEvent(reason=question.reason))).added

    async def compacted(event: Compacted) -> None:
        await hooks.tell(
            SessionCompactEvent(
                compaction_entry=event.entry,
                from_extension=event.from_extension,
                reason=event.reason,
                will_retry=event.will_retry,
            )
        )

    async def compact_failed(event: CompactFailed) -> None:
        await hooks.tell(
            SessionCompactFailedEvent(
                reason=event.reason,
                error_message=event.error_message,
                aborted=event.aborted,
                will_retry=event.will_retry,
                from_extension=event.from_extension,
            )
        )

    async def before_tree(question: BeforeTree) -> TreeDecision:
        return (await hooks.ask(SessionBeforeTreeEvent(preparation=question.move))).decision

    async def tree_moved(event: TreeMoved) -> None:
        await hooks.tell(
            SessionTreeEvent(
                new_leaf_id=event.new_leaf_id,
                old_leaf_id=event.old_leaf_id,
                summary_entry=event.summary,
                from_extension=event.from_extension,
            )
        )

    bus.on(ProjectTrust, trust, owner="extensions")
    bus.on(BeforeCompact, before_compact, owner="extensions")
    bus.on(Compacting, compacting, owner="extensions")
    bus.on(Compacted, compacted, owner="extensions")
    bus.on(CompactFailed, compact_failed, owner="extensions")
    bus.on(BeforeTree, before_tree, owner="extensions")
    bus.on(TreeMoved, tree_moved, owner="extensions")
