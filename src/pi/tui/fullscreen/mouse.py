"""Brings what the mouse does to the components under it, in their own coordinates."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.records import replace
from pi.tui.component import Area, Component
from pi.tui.input.mouse import MouseReport
from pi.tui.mouse import MouseAnswer, MouseEvent, MouseType, TakesMouse


def targets_at(top: Area, x: int, y: int) -> list[Area]:
    """Everything under a cell of the screen, the innermost first, with its area of the screen.

    As far as components say where their children are.
    """
    if not top.covers(x, y):
        return []
    found: list[Area] = []
    areas_at: Callable[[int], list[Area]] | None = getattr(top.component, "areas_at", None)
    for area in areas_at(y - top.row) if areas_at is not None else ():
        child = replace(area, row=top.row + area.row, column=top.column + area.column)
        found += targets_at(child, x, y)
    return [*found, top]


class MouseRouter:
    """Brings reports to components and remembers who has captured the mouse.

    A press and a release on the same cell are a click; clicks that follow each other on the same
    cell are counted, as long as the mouse is not moved in between.
    """

    def __init__(self) -> None:
        self._captured: Area | None = None
        self._pressed: tuple[int, int] | None = None
        self._clicks = 0
        self._clicked: tuple[int, int] | None = None

    def route(
        self, report: MouseReport, targets: list[Area]
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
        self, kind: MouseType, report: MouseReport, targets: list[Area]
    ) -> tuple[MouseAnswer, Component | None]:
        for target in [self._captured] if self._captured else targets:
            component: object = target.component
            if not isinstance(component, TakesMouse):
                continue
            clicks = self._clicks if kind == "click" else 0
            answer = component.handle_mouse(_seen_from(target, kind, report, clicks))
            if answer is not None and answer.handled:
                if answer.capture:
                    self._captured = target
                return answer, target.component
        return MouseAnswer(), None


def _seen_from(area: Area, kind: MouseType, report: MouseReport, clicks: int) -> MouseEvent:
    """The report as the component in an area sees it."""
    return MouseEvent(
        type=kind,
        button=report.button,
        x=report.x - area.column,
        y=report.y - area.row,
        screen_x=report.x,
        screen_y=report.y,
        width=area.width,
        height=area.height,
        shift=report.shift,
        alt=report.alt,
        ctrl=report.ctrl,
        wheel_delta=report.wheel_delta,
        click_count=clicks,
    )
