"""Brings what the mouse does to the components under it, in their own coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pi.tui.component import Box, Component
from pi.tui.input.mouse import MouseReport
from pi.tui.mouse import MouseAnswer, MouseEvent, MouseType, TakesMouse


class Target(NamedTuple):
    """A component under the mouse and the cells it covers on the screen."""

    component: Component
    row: int
    column: int
    width: int
    height: int

    def covers(self, x: int, y: int) -> bool:
        """Whether a cell belongs to it."""
        inside = self.column <= x < self.column + self.width
        return inside and self.row <= y < self.row + self.height

    def event(self, kind: MouseType, report: MouseReport, *, click_count: int = 0) -> MouseEvent:
        """The report as this component sees it."""
        return MouseEvent(
            type=kind,
            button=report.button,
            x=report.x - self.column,
            y=report.y - self.row,
            screen_x=report.x,
            screen_y=report.y,
            width=self.width,
            height=self.height,
            shift=report.shift,
            alt=report.alt,
            ctrl=report.ctrl,
            wheel_delta=report.wheel_delta,
            click_count=click_count,
        )


def targets_at(top: Target, x: int, y: int) -> list[Target]:
    """Everything under a cell, the innermost first, as far as it says where its children are."""
    if not top.covers(x, y):
        return []
    found: list[Target] = []
    boxes_at: Callable[[int], list[Box]] | None = getattr(top.component, "boxes_at", None)
    for box in boxes_at(y - top.row) if boxes_at is not None else ():
        child = Target(box.child, top.row + box.row, top.column + box.column, box.width, box.height)
        found += targets_at(child, x, y)
    return [*found, top]


class MouseRouter:
    """Brings reports to components and remembers who has captured the mouse.

    A press and a release on the same cell are a click; clicks that follow each other on the same
    cell are counted, as long as the mouse is not moved in between.
    """

    def __init__(self) -> None:
        self._captured: Target | None = None
        self._pressed: tuple[int, int] | None = None
        self._clicks = 0
        self._clicked: tuple[int, int] | None = None

    def route(
        self, report: MouseReport, targets: list[Target]
    ) -> tuple[MouseAnswer, Component | None]:
        """Deliver a report; the answer of whoever handled it, and who that was."""
        kinds: list[MouseType] = [report.action]
        if report.action == "press":
            self._pressed = (report.x, report.y)
        elif report.action == "release" and self._pressed == (report.x, report.y):
            kinds.append("click")
            self._clicks = self._clicks + 1 if self._clicked == self._pressed else 1
            self._clicked = self._pressed
        elif report.action in ("drag", "wheel", "move"):
            self._pressed = self._clicked = None
        answer, owner = MouseAnswer(), None
        for kind in kinds:
            given, handler = self._deliver(kind, report, targets)
            if handler is not None:
                answer = MouseAnswer(
                    handled=True,
                    focus=answer.focus or given.focus,
                    render=answer.render or given.render,
                )
                owner = handler
        if report.action == "release":
            self._captured = None
        return answer, owner

    def _deliver(
        self, kind: MouseType, report: MouseReport, targets: list[Target]
    ) -> tuple[MouseAnswer, Component | None]:
        for target in [self._captured] if self._captured else targets:
            component: object = target.component
            if not isinstance(component, TakesMouse):
                continue
            event = target.event(kind, report, click_count=self._clicks if kind == "click" else 0)
            answer = component.handle_mouse(event)
            if answer is not None and answer.handled:
                if answer.capture:
                    self._captured = target
                return answer, target.component
        return MouseAnswer(), None
