"""When an extension is loaded: what its manifest waits for, and whether that is so.

``startup``, ``session``    with every session
``flag:x``                  the command line has ``--x``
``mode:x``                  pi runs as ``interactive``, ``print``, ``json`` or ``rpc``
``entry:x``                 the session that is opened holds a custom entry of that type
``setting:a.b``             that setting has a value other than ``null`` and ``false``
``command:x``               ``/x`` is typed
``event:x``                 that event happens
``tool:x``                  that tool is called
``scheme:x``                ``x://…`` is read or written
``shortcut:x``              that key is pressed
``prefix:x``                a text is sent that begins so

One of them is enough. An extension that is for other ``modes`` is never loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pi.coding.extension_host.manifest import ALWAYS, Manifest
from pi.coding.settings.layers import value_at

if TYPE_CHECKING:  # deciding at the start that nothing is to be loaded should load nothing
    from pi.coding.extension_host.ui import Mode
    from pi.coding.session.log import SessionLog
    from pi.coding.settings.settings import Settings

_SEEN = ("event", "tool", "scheme", "shortcut", "prefix")
"""Triggers for which something has to stand in the extension's place from the start."""

INTERACTIVE: Mode = "tui"
"""What extensions are told of the mode that manifests call ``interactive``."""


def is_for(manifest: Manifest, mode: Mode) -> bool:
    """Whether an extension is for the way in which pi runs."""
    return not manifest.modes or mode in _told(manifest.modes)


def wanted_at_start(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether an extension is loaded before there is a session."""
    if not manifest.activate or any(trigger in ALWAYS for trigger in manifest.activate):
        return True
    modes = _told(manifest.triggers("mode"))
    return mode in modes or any(name in flags for name in manifest.triggers("flag"))


def may_sleep(manifest: Manifest, flags: Mapping[str, bool | str], mode: Mode) -> bool:
    """Whether nothing has to stand in its place before a command is typed or a session begins."""
    if not is_for(manifest, mode):
        return True
    if manifest.tools or manifest.shortcuts or manifest.prefixes:
        return False
    needed = any(manifest.triggers(kind) for kind in _SEEN)
    return not needed and not wanted_at_start(manifest, flags, mode)


def asks_session(manifest: Manifest) -> bool:
    """Whether it depends on the session and its settings that an extension is loaded."""
    return bool(manifest.triggers("entry") or manifest.triggers("setting"))


def wanted_in(log: SessionLog, settings: Settings, manifest: Manifest) -> bool:
    """Whether a session or its settings hold what an extension waits for."""
    return _is_set(settings, manifest) or _holds_entry(log, set(manifest.triggers("entry")))


def _told(modes: Iterable[str]) -> list[str]:
    """Modes that a manifest names, as extensions are told them."""
    return [INTERACTIVE if mode == "interactive" else mode for mode in modes]


def _is_set(settings: Settings, manifest: Manifest) -> bool:
    values = (value_at(settings.raw, name.split(".")) for name in manifest.triggers("setting"))
    return any(value is not None and value is not False for value in values)


def _holds_entry(log: SessionLog, types: set[str]) -> bool:
    if not types:
        return False
    outlines = enumerate(log.tree.outlines)
    # A long session has few of them, and only these are read.
    places = (place for place, outline in outlines if outline.type == "custom")
    return any(log.json(place).get("customType") in types for place in places)
