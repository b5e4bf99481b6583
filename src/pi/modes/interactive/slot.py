"""The place of the editor, in which dialogs take turns."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.component import Component
from pi.tui.containers import Container


class Slot:
    """Shows the component that came last; ``focus`` gives the keys to it.

    ``resident`` is what is there when nobody asks anything: what is drawn, and who takes the keys.
    """

    def __init__(
        self, resident: Component, typist: Component, focus: Callable[[Component], None]
    ) -> None:
        self._resident = resident
        self._typist = typist
        self._focus = focus
        self._guests: list[Component] = []
        self.component = Container(resident)

    @property
    def is_taken(self) -> bool:
        """Whether somebody asks something."""
        return bool(self._guests)

    def push(self, guest: Component) -> None:
        """Show a component and give it the keys."""
        self._guests.append(guest)
        self._settle()

    def remove(self, guest: Component) -> None:
        """Take a component away; what was there before it comes back."""
        self._guests = [other for other in self._guests if other is not guest]
        self._settle()

    def _settle(self) -> None:
        self.component.clear()
        self.component.add_child(self._guests[-1] if self._guests else self._resident)
        self._focus(self._guests[-1] if self._guests else self._typist)
