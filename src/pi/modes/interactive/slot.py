"""The place of the editor, in which dialogs take turns."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.component import Area, Component


class Slot:
    """Draws the component that came last; ``focus`` gives the keys to it.

    ``resident`` is what is there when nobody asks anything: what is drawn, and who takes the keys.
    """

    def __init__(
        self, resident: Component, typist: Component, focus: Callable[[Component], None]
    ) -> None:
        self._resident = resident
        self._typist = typist
        self._focus = focus
        self._guests: list[Component] = []
        self._resting_rows = 0
        """How many rows the resident had when it was last seen."""
        self._width = self._rows = 0

    @property
    def is_taken(self) -> bool:
        """Whether somebody asks something."""
        return bool(self._guests)

    @property
    def children(self) -> tuple[Component, ...]:
        """Who is shown."""
        return (self._guests[-1] if self._guests else self._resident,)

    @property
    def passing_rows(self) -> int:
        """How many rows fewer there are when the guests have gone, or when the resident rests."""
        if self.is_taken:
            return max(self._rows - self._resting_rows, 0)
        rows: int = getattr(self._resident, "passing_rows", 0)
        return rows

    def areas_at(self, row: int) -> list[Area]:
        """Who is shown has all of it."""
        (shown,) = self.children
        return [Area(shown, 0, 0, self._width, self._rows)]

    def render(self, width: int) -> list[str]:
        """The rows of who is shown."""
        (shown,) = self.children
        rows = shown.render(width)
        self._width, self._rows = width, len(rows)
        if not self.is_taken:
            self._resting_rows = self._rows - self.passing_rows
        return rows

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._resident.invalidate()
        for guest in self._guests:
            guest.invalidate()

    def push(self, guest: Component) -> None:
        """Show a component and give it the keys."""
        self._guests.append(guest)
        self._settle()

    def remove(self, guest: Component) -> None:
        """Take a component away; what was there before it comes back."""
        self._guests = [other for other in self._guests if other is not guest]
        self._settle()

    def clear(self) -> None:
        """Take all guests away."""
        self._guests.clear()
        self._settle()

    def _settle(self) -> None:
        self._focus(self._guests[-1] if self._guests else self._typist)
