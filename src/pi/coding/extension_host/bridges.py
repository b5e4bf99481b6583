"""What the systems below tell and ask over the bus, as the events of extensions."""

from __future__ import annotations

from typing import TypeVar

from pi.coding.bus import Bus, Event, Rank
from pi.coding.compaction.events import (
    BeforeCompact,
    BeforeTree,
    CompactDecision,
    Compacted,
    CompactFailed,
    Compacting,
    CompactingAnswer,
    TreeDecision,
    TreeMoved,
)
from pi.coding.extension_host.events.handlers import Hooks
from pi.coding.extension_host.events.session import (
    ProjectTrustEvent,
    SessionBeforeCompactEvent,
    SessionBeforeTreeEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionTreeEvent,
)
from pi.coding.trust import ProjectTrust, TrustAnswer

E = TypeVar("E", bound=Event)

TOLD: dict[type[Event], type[Event]] = {
    Compacted: SessionCompactEvent,
    CompactFailed: SessionCompactFailedEvent,
    TreeMoved: SessionTreeEvent,
}
"""What is only told, and what extensions know it as: the same, under another name."""


DECIDING: tuple[Rank, ...] = ("bundled", "user", "explicit")
"""Whose opinion on trust counts. A project must not decide about itself or about another one."""


def connect(bus: Bus, hooks: Hooks) -> None:
    """Have extensions hear what trust, compaction and moves in the tree tell and ask."""

    async def tell(event: Event) -> None:
        await hooks.tell(_renamed(event, TOLD[type(event)]))

    async def trust(question: ProjectTrust) -> TrustAnswer:
        asked = await hooks.ask(ProjectTrustEvent(cwd=question.cwd), ranks=DECIDING)
        return asked.decision

    async def before_compact(question: BeforeCompact) -> CompactDecision | None:
        if not hooks.heard(SessionBeforeCompactEvent):
            return None
        return (await hooks.ask(_renamed(question, SessionBeforeCompactEvent))).decision

    async def compacting(question: Compacting) -> CompactingAnswer:
        return (await hooks.ask(SessionCompactingEvent(reason=question.reason))).added

    async def before_tree(question: BeforeTree) -> TreeDecision:
        return (await hooks.ask(SessionBeforeTreeEvent(preparation=question.move))).decision

    for kind in TOLD:
        bus.subscribe(kind, tell, owner="extensions")
    bus.subscribe(ProjectTrust, trust, owner="extensions")
    bus.subscribe(BeforeCompact, before_compact, owner="extensions")
    bus.subscribe(Compacting, compacting, owner="extensions")
    bus.subscribe(BeforeTree, before_tree, owner="extensions")


def _renamed(event: Event, kind: type[E]) -> E:
    return kind(**{name: getattr(event, name) for name in event.__struct_fields__})
