"""What blocks of an answer go by on wires that number them. Pure."""

from __future__ import annotations

from collections.abc import Hashable


class BlockKeys:
    """Gives the ``MessageBuilder`` keys for numbered blocks.

    Servers number a block that follows another like that one, or leave numbers out: what comes
    under the number of a block that has ended belongs to another block.
    """

    def __init__(self) -> None:
        self._ended: dict[int | None, int] = {}

    def key(self, kind: str, index: int | None) -> Hashable:
        """The key of the block of ``kind`` that grows under ``index``."""
        return kind, index, self._ended.get(index, 0)

    def end(self, index: int | None) -> None:
        """Nothing more will come for what grew under ``index``."""
        self._ended[index] = self._ended.get(index, 0) + 1
