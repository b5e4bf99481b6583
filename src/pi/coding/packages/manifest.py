"""What a package declares, in package.json, pyproject.toml or pi.toml. Read, never run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.base.records import UNREADABLE
from pi.coding.packages.confined import inside
from pi.coding.packages.entries import KINDS, Kind
from pi.coding.resources.source import Warn

Manifest: TypeAlias = Mapping[Kind, tuple[str, ...]]
"""Paths and patterns by kind, ``!`` before those that are left out."""

MOST_KEY_PARTS = 64
"""Of a dotted key such as ``tool.pi.extensions``."""
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_KEY_PARTS}}}"

_FILES = {"package.json": ("pi",), "pyproject.toml": ("tool", "pi"), "pi.toml": ()}
"""Files, and where in them the declaration stands."""


def read_manifest(folder: Path, warn: Warn) -> Manifest | None:
    """What the files of ``folder`` declare; ``None`` without a declaration, or with a broken one.

    Our own files have the last word on each kind: package.json may be there for the original
    alone. A table that says something else of an extension, and nothing of resources, is none.
    """
    declared: dict[Kind, tuple[str, ...]] | None = None
    for name, keys in _FILES.items():
        if not inside(folder, folder / name):
            warn(f"{folder / name} is a link that leads out of its package and is not used")
            continue
        said: object = _read(folder / name, warn)
        for key in keys:
            said = said.get(key) if isinstance(said, dict) else None
        if name == "package.json" and said is not None and not isinstance(said, dict):
            warn(f'{folder / name}: "pi" must be an object')
        if isinstance(said, dict) and (name == "package.json" or said.keys() & set(KINDS)):
            for kind in KINDS:
                if kind in said and not _is_list_of_texts(said[kind]):
                    warn(f'{folder / name}: "{kind}" must be a list of paths')
            lists = {kind: _texts(said[kind]) for kind in KINDS if kind in said}
            declared = (declared or {}) | lists
    return declared


def read_object(path: Path) -> Json:
    """The object in a JSON file; empty where there is none. ``PiError`` if it is broken."""
    data = read_if_exists(path)
    if data is None:
        return {}
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except UNREADABLE as problem:
        raise PiError(f"{path} cannot be read: {problem}") from problem


def _read(path: Path, warn: Warn) -> Json | None:
    try:
        return read_object(path) if path.suffix == ".json" else read_toml(path)
    except PiError as problem:
        warn(f"{problem.message}; the folders of its package are used")
        return None


def read_toml(path: Path) -> Json | None:
    """The table in a TOML file, if there is one. ``PiError`` if it is broken."""
    data = read_if_exists(path)
    if data is None:
        return None
    try:
        return parse_toml(data.decode("utf-8"))
    except ValueError as problem:  # also of a text that is not UTF-8
        raise PiError(f"{path} cannot be read: {problem}") from problem


def parse_toml(text: str) -> Json:
    """The table in a text; ``ValueError`` if it is no TOML, or deeper than any manifest."""
    import tomllib  # 6 ms, which only Python projects are worth

    # The parser takes a minute for 100 kB of ``a.a.a…``, because it copies the key at every dot.
    if re.search(_LONG_KEY, text):
        raise ValueError(f"a key has more than {MOST_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as problem:
        raise ValueError("values are nested too deeply") from problem


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts(value: object) -> tuple[str, ...]:
    """The texts in a list; nothing for what is no list."""
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
