"""What extensions say of a session for others to show."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from pi.coding.extension_host.drawing import Rows
from pi.coding.extension_host.order import Names, Owner


class Facts:
    """Texts by name; rows that may show them are painted when one changes."""

    def __init__(self) -> None:
        self._texts: Names[str] = Names(self._changed)
        self._rows: dict[Hashable, Rows] = {}

    @property
    def texts(self) -> Mapping[str, str]:
        """What counts, by name."""
        return self._texts.values

    def add(self, name: str, text: str, owner: Owner) -> Callable[[], None]:
        """Have ``text`` count; gives what takes it back."""
        return self._texts.add(name, text, owner)

    def show_in(self, key: Hashable, rows: Rows) -> Callable[[], None]:
        """Have ``rows`` painted at every change, in the place of others of that key.

        Gives what removes them.
        """
        self._rows[key] = rows

        def remove() -> None:
            if self._rows.get(key) is rows:
                del self._rows[key]
            rows.remove()

        return remove

    def _changed(self) -> None:
        for rows in tuple(self._rows.values()):
            rows.invalidate()
