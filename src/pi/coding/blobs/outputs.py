"""What agents that work for a session have written: one Markdown text each, by the agent's name."""

from __future__ import annotations

import re
from itertools import count

from pi.coding.blobs.folder import TextFolder

_SUFFIX = ".md"
_UNSAFE = re.compile(r"[^\w.@+-]+")


class AgentOutputs:
    """The outputs of one session, ``<name>.md``; a name that was used is never given again."""

    def __init__(self, folder: TextFolder) -> None:
        self.folder = folder
        self._taken: set[str] | None = None

    def allocate(self, name: str, *, parent: str = "") -> str:
        """An id for what an agent will write: its name, then ``name-2``, ``name-3`` and so on.

        With the id of a ``parent``, ``parent.name``. What cannot be in a file's name becomes ``-``.
        """
        safe = _UNSAFE.sub("-", name).strip(".-") or "agent"
        wanted = f"{parent}.{safe}" if parent else safe
        if self._taken is None:
            self._taken = {id.casefold() for id in self.ids()}
        ids = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
        free = next(id for id in ids if id.casefold() not in self._taken)
        self._taken.add(free.casefold())  # some file systems know no capitals
        return free

    def save(self, id: str, text: str) -> None:
        """Keep what the agent of that id has written."""
        self.folder.write(id + _SUFFIX, text)

    def read(self, id: str) -> str | None:
        """What it has written; ``None`` if there is nothing."""
        return self.folder.read(id + _SUFFIX) if id in self.ids() else None

    def ids(self) -> list[str]:
        """Of all outputs that there are."""
        names = self.folder.names()
        return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
