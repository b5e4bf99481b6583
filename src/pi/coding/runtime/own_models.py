"""The person's ``models.json``, read when a session begins and whenever they look for models."""

from __future__ import annotations

from collections.abc import Callable

from pi.ai.models.custom import CustomModels, read_custom_models
from pi.ai.models_collection import Models
from pi.ai.providers.rows import BUILT_IN
from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.coding.runtime.host import Host


class OwnModels:
    """What the file said last. ``make`` gives the models of everybody, the person's among them."""

    def __init__(self, host: Host, make: Callable[[CustomModels], Models]) -> None:
        self._host = host
        self._make = make
        self._content = _content(host)
        self.custom = _read(host, self._content)

    def bring(self, models: Models) -> None:
        """Have ``models`` know what the file says now; one that cannot be read changes nothing."""
        try:
            content = _content(self._host)
        except PiError as problem:
            self._host.report(f"Warning: {problem.explain()}")
            return
        if content == self._content:
            return
        self._content = content
        custom = _read(self._host, content)
        if custom.problems and not custom.providers:
            return
        before = {provider.id: provider for provider in self.custom.providers}
        after = {provider.id: provider for provider in custom.providers}
        changed = [id for id in {**before, **after} if before.get(id) != after.get(id)]
        models.adopt(self._make(custom), changed)
        self.custom = custom


def own_models(host: Host) -> CustomModels:
    """What the person's ``models.json`` adds; what is wrong with it is reported."""
    return _read(host, _content(host))


def _content(host: Host) -> bytes | None:
    return read_if_exists(host.agent_dir / "models.json")


def _read(host: Host, content: bytes | None) -> CustomModels:
    if content is None:
        return CustomModels()
    path = host.agent_dir / "models.json"
    names = [row.id for row in BUILT_IN]
    custom = read_custom_models(content.decode("utf-8", "replace"), str(path), names)
    for problem in custom.problems:
        host.report(f"Warning: errors loading models.json:\n{problem}")
    return custom
