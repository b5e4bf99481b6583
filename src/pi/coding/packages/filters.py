"""Which of a package's resources are wanted: ``["skills/*", "!old/*", "+a.md", "-b.md"]``. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.coding.resources.globs import compile_glob


def select(
    offered: Sequence[str], wishes: Sequence[str] | None, *, base: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Those of ``offered`` (paths with ``/``) that ``wishes`` leave, in their order.

    No list means all, an empty one none. Patterns choose, ``!`` patterns leave out; after them
    ``+`` and ``-`` name single resources or folders, and the longer name has the last word.
    Nothing that is not offered can be wished for. With ``base`` the wishes change a choice that
    was made before, and no list changes nothing.
    """
    if wishes is None:
        return tuple(offered) if base is None else tuple(base)
    if not wishes:
        return ()
    patterns = [wish for wish in wishes if wish[:1] not in ("!", "+", "-")]
    chosen = set(offered if base is None and not patterns else base or ())
    chosen |= {path for path in offered if _any_matches(patterns, path)}
    unwanted = [wish[1:] for wish in wishes if wish.startswith("!")]
    chosen -= {path for path in chosen if _any_matches(unwanted, path)}
    marks = {path: _mark(wishes, path) for path in offered}
    return tuple(
        path for path in offered if marks[path] == "+" or (path in chosen and marks[path] != "-")
    )


def plain_path(text: str) -> str:
    """``./skills/a/`` as ``skills/a``: how paths are compared."""
    while text.startswith("./"):
        text = text[2:]
    return text.rstrip("/")


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern means ``path`` or a folder that it is in."""
    found = compile_glob(plain_path(pattern)).fullmatch
    return any(found(name) for name in _with_folders(path))


def _any_matches(patterns: Sequence[str], path: str) -> bool:
    return any(matches(pattern, path) for pattern in patterns)


def _mark(wishes: Sequence[str], path: str) -> str:
    """What the longest name that means ``path`` says of it: ``+``, ``-`` or nothing."""
    names = _with_folders(path)
    marked = [wish for wish in wishes if wish[:1] in ("+", "-")]
    said = [
        (len(plain_path(wish[1:])), wish[0]) for wish in marked if plain_path(wish[1:]) in names
    ]
    return max(said, default=(0, ""))[1]  # of equally long ones "-", which sorts behind "+"


def _with_folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
