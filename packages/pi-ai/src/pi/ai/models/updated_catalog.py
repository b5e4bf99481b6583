"""The updated catalog: the bundled models with what sources say about them since.

Imports nothing that a start without an update does not need.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.models.catalog import bundled_at
from pi.ai.models.model import Model
from pi.base.files import FileAccessError, stat_if_exists

if TYPE_CHECKING:
    from pi.ai.models.updates import UpdateFile

FILE = "models-update.json"
"""In the agent directory."""


class UpdatedCatalog:
    """The bundled models with the facts of the file, which is read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._signature: tuple[int, int] | None = None
        self._file: UpdateFile | None = None
        self._models: dict[str, tuple[Model, ...]] = {}

    def models(self, provider: str, bundled: tuple[Model, ...]) -> tuple[Model, ...]:
        """Return ``bundled``, the models of ``provider``, with the facts about them."""
        file = self.read()
        if file is None or provider not in file.providers:
            return bundled
        if provider not in self._models:
            from pi.ai.models.updates import updated  # lazy: most starts have no update

            newer = {state.name for state in file.sources if state.checked_at > bundled_at()}
            facts = [entry for entry in file.facts_of(provider) if entry.source in newer]
            order = [state.name for state in file.sources]
            facts.sort(key=lambda entry: order.index(entry.source))
            self._models[provider] = updated(bundled, [entry.models for entry in facts])
        return self._models[provider]

    def read(self) -> UpdateFile | None:
        """Return the content of the file; ``None`` if there is none."""
        try:
            status = stat_if_exists(self._path)
        except FileAccessError:
            status = None
        signature = None if status is None else (status.st_mtime_ns, status.st_size)
        if signature != self._signature:
            self._signature, self._models = signature, {}
            self._file = None
            if signature is not None:
                from pi.ai.models.updates import read_update  # lazy, as above

                self._file = read_update(self._path)
        return self._file

    @property
    def checked_at(self) -> int:
        """When the models were last compared with a source, or the bundled catalog was made."""
        file = self.read()
        return max(file.checked_at if file else 0, bundled_at())

    @property
    def is_updated(self) -> bool:
        """Whether there was an update since the bundled catalog was made."""
        return self.checked_at > bundled_at()
