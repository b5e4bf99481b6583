"""Model lists of gateways, cached in ``models-store.json``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.base.files import FileAccessError, private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE

log = logging.getLogger(__name__)

LARGEST = 32 * 1024 * 1024
"""Bytes; the list of a gateway with a thousand models has one or two million."""


class ModelsStore:
    """The last model lists by provider, so that a start needs no request.

    It is a cache: an unreadable file is not an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, provider: str) -> tuple[Model, ...]:
        """Return the last known models of ``provider``."""
        entry = self._entries().get(provider)
        return models_from(entry.get("models") if isinstance(entry, dict) else None)

    def write(self, provider: str, models: tuple[Model, ...], *, checked_at: int) -> None:
        """Store the models of ``provider``; those of other providers are unchanged."""
        try:
            private_directory(self._path.parent)
            with DirectoryLock(self._path):
                entries = self._entries()
                old = entries.get(provider)
                entry = old if isinstance(old, dict) else {}
                now = {"models": msgspec.to_builtins(models), "checkedAt": checked_at}
                entries[provider] = {**entry, **now}
                text = msgspec.json.format(msgspec.json.encode(entries), indent=2)
                replace_file(self._path, text)
        except FileAccessError as error:
            log.info("the models of %s are not kept: %s", provider, error)

    def _entries(self) -> Json:
        try:
            entries = msgspec.json.decode(read_if_exists(self._path, max_bytes=LARGEST) or b"{}")
        except (FileAccessError, *UNREADABLE):
            return {}
        return entries if isinstance(entries, dict) else {}


def models_from(entries: Any, **defaults: str) -> tuple[Model, ...]:
    """Return the models that JSON describes, completed by the common fields ``defaults``.

    Invalid entries, and those that only a newer version supports, are left out.
    """
    models = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not entry.get("id"):
            continue
        try:
            models.append(msgspec.convert({"name": entry["id"], **defaults, **entry}, Model))
        except msgspec.ValidationError:
            continue
    return tuple(models)
