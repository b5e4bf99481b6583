"""Who gets the keys."""

from __future__ import annotations

from pi.tui.component import Component, Focusable


class Focus:
    """The one component that has the focus, or none."""

    def __init__(self) -> None:
        self._target: Component | None = None

    @property
    def target(self) -> Component | None:
        """The component that gets the keys."""
        return self._target

    def set(self, target: Component | None) -> None:
        """Give the focus to ``target``; it and the one that loses it are told."""
        if target is self._target:
            return
        self._tell(is_focused=False)
        self._target = target
        self._tell(is_focused=True)

    def _tell(self, *, is_focused: bool) -> None:
        target: object = self._target
        if isinstance(target, Focusable):
            target.focused = is_focused
