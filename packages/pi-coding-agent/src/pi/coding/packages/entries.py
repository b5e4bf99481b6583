"""Entries of the ``packages`` setting and their filters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import field

from pi.ai.messages import Json
from pi.base.records import Record, replace
from pi.coding.packages.source import BadSource, Source, parse_source
from pi.coding.resources.ignore import compile_glob


def select(
    offered: Sequence[str], filters: Sequence[str] | None, *, base: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Apply ``filters`` such as ``["skills/*", "!old/*", "+a.md", "-b.md"]`` to ``offered``.

    ``None`` selects all, an empty list nothing. Patterns include, ``!`` patterns exclude; then
    ``+`` and ``-`` include or exclude single resources or folders, and the longer path takes
    precedence. With ``base`` the filters modify that selection, and ``None`` keeps it.
    """
    if filters is None:
        return tuple(offered) if base is None else tuple(base)
    if not filters:
        return ()
    patterns = [rule for rule in filters if rule[:1] not in ("!", "+", "-")]
    chosen = set(offered if base is None and not patterns else base or ())
    chosen |= {path for path in offered if _any_matches(patterns, path)}
    unwanted = [rule[1:] for rule in filters if rule.startswith("!")]
    chosen -= {path for path in chosen if _any_matches(unwanted, path)}
    marks = {path: _mark(filters, path) for path in offered}
    return tuple(
        path for path in offered if marks[path] == "+" or (path in chosen and marks[path] != "-")
    )


def plain_path(text: str) -> str:
    """Normalise ``./skills/a/`` to ``skills/a`` for comparison."""
    while text.startswith("./"):
        text = text[2:]
    return text.rstrip("/")


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches ``path`` or one of its folders."""
    fullmatch = compile_glob(plain_path(pattern)).fullmatch
    return any(fullmatch(name) for name in _with_folders(path))


def _any_matches(patterns: Sequence[str], path: str) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def _mark(filters: Sequence[str], path: str) -> str:
    """Return the sign of the longest ``+`` or ``-`` filter for ``path``, or an empty text."""
    names = _with_folders(path)
    marked = [rule for rule in filters if rule[:1] in ("+", "-")]
    lengths_and_signs = [
        (len(plain_path(rule[1:])), rule[0]) for rule in marked if plain_path(rule[1:]) in names
    ]
    return max(lengths_and_signs, default=(0, ""))[1]  # of equal length "-", which sorts after "+"


def _with_folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


Kind: TypeAlias = Literal["extensions", "tools", "skills", "prompts", "themes"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class PackageEntry(Record):
    """A package in a settings file."""

    source: str
    """As written in the file; paths are relative to the folder of the file."""
    autoload: bool = True
    """If off, only what filters include is used; a project's entry then modifies the user's."""
    filters: dict[Kind, tuple[str, ...]] = field(default_factory=dict)
    """By kind; without filters everything of a kind is used."""

    def parsed(self, base: Path) -> Source:
        """Parse the source. Raises ``BadSource``."""
        return parse_source(self.source, base)

    def written(self, before: Json | None = None) -> str | Json:
        """Return the JSON form; unknown fields of ``before`` are kept."""
        others = {
            name: value
            for name, value in (before or {}).items()
            if name not in ("source", "autoload", *KINDS)
        }
        if self.autoload and not self.filters and not others:
            return self.source
        fields: Json = {} if self.autoload else {"autoload": False}
        fields |= {kind: list(self.filters[kind]) for kind in KINDS if kind in self.filters}
        return {"source": self.source, **fields, **others}


def read_entry(raw: object) -> PackageEntry | None:
    """Parse an entry of the file; ``None`` if it is invalid."""
    if isinstance(raw, str):
        return PackageEntry(source=raw)
    if not isinstance(raw, dict) or not isinstance(raw.get("source"), str):
        return None
    lists = {kind: raw[kind] for kind in KINDS if isinstance(raw.get(kind), list)}
    filters = {kind: tuple(x for x in rules if isinstance(x, str)) for kind, rules in lists.items()}
    return PackageEntry(
        source=raw["source"], autoload=raw.get("autoload") is not False, filters=filters
    )


def read_entries(raw: object) -> list[PackageEntry]:
    """Parse the list in the file; invalid entries are skipped."""
    entries = map(read_entry, raw if isinstance(raw, list) else ())
    return [entry for entry in entries if entry is not None]


def find_entries(raw: Sequence[object], source: Source, text: str, base: Path) -> list[int]:
    """Return the indexes of entries for the package ``source``, or written exactly as ``text``."""
    return [
        index
        for index, raw_entry in enumerate(raw)
        if _has_source(read_entry(raw_entry), source, text, base)
    ]


def with_entry(raw: Sequence[object], entry: PackageEntry, indexes: Iterable[int]) -> list[object]:
    """Return the list with ``entry`` at the first of ``indexes``, or at the end.

    The other ``indexes`` are removed.
    """
    first, *others = [*indexes] or [len(raw)]
    new = list(raw)
    before = new[first] if first < len(raw) else None
    new[first : first + 1] = [entry.written(before if isinstance(before, dict) else None)]
    return [raw_entry for index, raw_entry in enumerate(new) if index not in others]


def toggled(
    entry: PackageEntry,
    kind: Kind,
    path: str,
    offered: Sequence[str],
    *,
    on: bool,
    base: Sequence[str] | None,
) -> PackageEntry:
    """Return the entry with one resource switched on or off; all others keep their state.

    ``base`` is the selection that the entry modifies, as for ``select``.
    """
    before = entry.filters.get(kind)
    other_rules = [
        rule for rule in before or () if rule[:1] not in ("+", "-") or _names(rule) != path
    ]
    unchanged = len(other_rules) == len(before or ())
    filters = tuple(other_rules) if other_rules or (before is not None and unchanged) else None
    if (path in select(offered, filters, base=base)) is not on:
        # An empty list selects nothing, but "+" alone would select everything else too.
        none = ("!**",) if filters == () else filters or ()
        filters = (*none, f"{'+' if on else '-'}{path}")
    others = {name: rules for name, rules in entry.filters.items() if name != kind}
    return replace(entry, filters=others if filters is None else others | {kind: filters})


def _has_source(entry: PackageEntry | None, source: Source, text: str, base: Path) -> bool:
    if entry is None:
        return False
    if entry.source == text:
        return True
    try:
        return entry.parsed(base).identity == source.identity
    except BadSource:
        return False


def _names(rule: str) -> str:
    return plain_path(rule[1:])
