"""The rows in which the editor or a dialog is shown."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.component import Area, Component


class DialogSlot:
    """Shows the latest dialog in place of the editor.

    ``resident`` is shown if no dialog is open; ``typist`` is its part that gets the keys. ``focus``
    sets the component that gets the keys.
    """

    def __init__(
        self, resident: Component, typist: Component, focus: Callable[[Component], None]
    ) -> None:
        self._resident = resident
        self._typist = typist
        self._focus = focus
        self._guests: list[Component] = []
        self._resting_rows = 0
        """Height of the resident when it was last drawn."""
        self._width = self._rows = 0
        self.transient_rows = 0
        """Rows that disappear when the dialogs close; without a dialog, those of the resident."""

    @property
    def has_dialog(self) -> bool:
        """Whether a dialog is open."""
        return bool(self._guests)

    @property
    def children(self) -> tuple[Component, ...]:
        """The visible component."""
        return (self._guests[-1] if self._guests else self._resident,)

    def areas_at(self, row: int) -> list[Area]:
        """The area of the visible component."""
        (component,) = self.children
        return [Area(component, 0, 0, self._width, self._rows)]

    def render(self, width: int) -> list[str]:
        """The rows of the visible component."""
        (component,) = self.children
        rows = component.render(width)
        self._width, self._rows = width, len(rows)
        if self.has_dialog:
            self.transient_rows = max(self._rows - self._resting_rows, 0)
        else:
            self.transient_rows = getattr(self._resident, "transient_rows", 0)
            self._resting_rows = self._rows - self.transient_rows
        return rows

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        self._resident.invalidate()
        for guest in self._guests:
            guest.invalidate()

    def push(self, guest: Component) -> None:
        """Show a component and give it the keys."""
        self._guests.append(guest)
        self._settle()

    def remove(self, guest: Component) -> None:
        """Remove a component; the previous one is shown again."""
        self._guests = [other for other in self._guests if other is not guest]
        self._settle()

    def clear(self) -> None:
        """Remove all dialogs."""
        self._guests.clear()
        self._settle()

    def _settle(self) -> None:
        self._focus(self._guests[-1] if self._guests else self._typist)
