"""``models-store.json``: what gateways said last, so that a start need not ask them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.base.files import (
    DirectoryLock,
    FileProblem,
    private_directory,
    read_if_exists,
    replace_file,
)
from pi.base.records import UNREADABLE

log = logging.getLogger(__name__)

LARGEST = 32 * 1024 * 1024
"""Bytes; the list of a gateway with a thousand models has one or two million."""


class ModelsStore:
    """Lists of models by provider; a cache, so a file that cannot be used is no error."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, provider: str) -> tuple[Model, ...]:
        """The models that ``provider`` had when it was asked last."""
        entry = self._entries().get(provider)
        return models_from(entry.get("models") if isinstance(entry, dict) else None)

    def write(self, provider: str, models: tuple[Model, ...], *, checked_at: int) -> None:
        """Keep the models of ``provider``; what is known of others stays as it is."""
        try:
            private_directory(self._path.parent)
            with DirectoryLock(self._path):
                entries = self._entries()
                old = entries.get(provider)
                kept = old if isinstance(old, dict) else {}
                now = {"models": msgspec.to_builtins(models), "checkedAt": checked_at}
                entries[provider] = {**kept, **now}
                text = msgspec.json.format(msgspec.json.encode(entries), indent=2)
                replace_file(self._path, text)
        except FileProblem as problem:
            log.info("the models of %s are not kept: %s", provider, problem)

    def _entries(self) -> Json:
        try:
            entries = msgspec.json.decode(read_if_exists(self._path, most=LARGEST) or b"{}")
        except (FileProblem, *UNREADABLE):
            return {}
        return entries if isinstance(entries, dict) else {}


def models_from(entries: Any, **known: str) -> tuple[Model, ...]:
    """The models that JSON describes, completed by what is ``known`` of all of them.

    What is none, or of a newer kind than this version knows, is left out.
    """
    found = []
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not entry.get("id"):
            continue
        try:
            found.append(msgspec.convert({"name": entry["id"], **known, **entry}, Model))
        except msgspec.ValidationError:
            continue
    return tuple(found)
