"""Header fields of a response, found by name without regard to case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Headers:
    """Pairs of lower-case name and value, in the order they arrived."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple((name.lower(), value) for name, value in pairs)

    def get(self, name: str, default: str = "") -> str:
        """The value of ``name``; several fields of that name are joined with a comma."""
        return ", ".join(self.get_all(name)) or default

    def get_all(self, name: str) -> tuple[str, ...]:
        """Every value of ``name``, for fields that must not be joined (``Set-Cookie``)."""
        wanted = name.lower()
        return tuple(value for key, value in self._pairs if key == wanted)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(key == name.lower() for key, _ in self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._pairs == other._pairs

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"Headers({list(self._pairs)!r})"
