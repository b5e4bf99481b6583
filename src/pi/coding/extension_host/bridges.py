"""Forwards the events and queries of the systems below to extensions."""

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

FORWARDED: dict[type[Event], type[Event]] = {
    Compacted: SessionCompactEvent,
    CompactFailed: SessionCompactFailedEvent,
    TreeMoved: SessionTreeEvent,
}
"""Events that are forwarded under the name that extensions know."""


DECIDING: tuple[Rank, ...] = ("bundled", "user", "explicit")
"""Extensions that may answer a trust query. A project must not decide about itself or others."""


def connect(bus: Bus, hooks: Hooks) -> None:
    """Forward trust, compaction and tree events of the bus to extensions."""

    async def forward(event: Event) -> None:
        await hooks.emit(_renamed(event, FORWARDED[type(event)]))

    async def trust(question: ProjectTrust) -> TrustAnswer:
        asked = await hooks.query(ProjectTrustEvent(cwd=question.cwd), ranks=DECIDING)
        return asked.decision

    async def before_compact(question: BeforeCompact) -> CompactDecision | None:
        if not hooks.has_subscribers(SessionBeforeCompactEvent):
            return None
        return (await hooks.query(_renamed(question, SessionBeforeCompactEvent))).decision

    async def compacting(question: Compacting) -> CompactingAnswer:
        return (await hooks.query(SessionCompactingEvent(reason=question.reason))).added

    async def before_tree(question: BeforeTree) -> TreeDecision:
        return (await hooks.query(SessionBeforeTreeEvent(preparation=question.move))).decision

    for kind in FORWARDED:
        bus.subscribe(kind, forward, owner="extensions")
    bus.subscribe(ProjectTrust, trust, owner="extensions")
    bus.subscribe(BeforeCompact, before_compact, owner="extensions")
    bus.subscribe(Compacting, compacting, owner="extensions")
    bus.subscribe(BeforeTree, before_tree, owner="extensions")


def _renamed(event: Event, kind: type[E]) -> E:
    return kind(**{name: getattr(event, name) for name in event.__struct_fields__})
