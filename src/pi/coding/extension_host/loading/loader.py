"""Loads and unloads the extensions of a session one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from pi.base.files import read_regular
from pi.base.records import Record, replace
from pi.coding.bus import Owner
from pi.coding.extension_host.api.context import CommandContext
from pi.coding.extension_host.api.host_state import HostState
from pi.coding.extension_host.api.loaded_extension import LoadedExtension, build_extension
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.discovery.manifest import (
    Manifest,
    check_version,
    loads_at_start,
    supports_mode,
)
from pi.coding.extension_host.errors import ExtensionError, contained
from pi.coding.extension_host.loading import modules
from pi.coding.extension_host.loading.stand_ins import add_stand_ins
from pi.coding.extension_host.watchdog import Stalls
from pi.coding.port.extensions import ExtensionInfo

log = logging.getLogger(__name__)


class _Deferred(Record):
    """An extension whose loading is deferred until its first use."""

    candidate: Candidate
    manifest: Manifest
    loading: asyncio.Lock
    """Held while it is loaded, so that concurrent first uses wait for one load."""


class ExtensionLoader:
    """The loaded and deferred extensions of a session."""

    def __init__(
        self,
        state: HostState,
        *,
        stalls: Stalls,
        report: Callable[[str], None],
    ) -> None:
        self._state = state
        self._stalls = stalls
        self._report = report
        self._deferred: dict[str, _Deferred] = {}
        self._instances: dict[str, LoadedExtension] = {}
        self._infos: dict[str, ExtensionInfo] = {}
        """In discovery order. Load order is the same, even for extensions that load late."""
        self._candidates: dict[str, Candidate] = {}

    @property
    def usable(self) -> list[Candidate]:
        """Every extension that was found and has not failed."""
        return [
            candidate
            for where, candidate in self._candidates.items()
            if self._infos[where].state != "failed"
        ]

    @property
    def infos(self) -> list[ExtensionInfo]:
        """Every extension that was found, including failed ones, with what it adds."""
        registries = self._state.registries
        return [
            replace(
                info,
                adds=registries.registered_by(where),
                **_declared(self._candidates.get(where)),
            )
            for where, info in self._infos.items()
        ]

    def owner_of(self, module: str) -> Owner | None:
        """The owner of a module; ``None`` if no loaded extension owns it."""
        for where, candidate in [*self._candidates.items()]:
            instance, name = self._instances.get(where), modules.module_of(candidate)
            if instance is not None and (module == name or module.startswith(f"{name}.")):
                return instance.owner
        return None

    async def load(self, candidates: Iterable[Candidate]) -> None:
        """Load extensions one after another; a failure is reported and does not stop the others."""
        for candidate in candidates:
            found = self._record(candidate)
            if found is None:
                continue
            if loads_at_start(found.manifest, self._state.flags, self._state.connection.mode):
                await self._start(found.candidate)
            else:
                self._defer(found)

    def add_deferred(self, candidates: Iterable[Candidate]) -> None:
        """Add stand-ins for extensions that load on first use."""
        for candidate in candidates:
            if (found := self._record(candidate)) is not None:
                self._defer(found)

    async def unload(self) -> None:
        """Unload all extensions in reverse order."""
        for where in reversed([*self._instances]):
            await self._unload_one(where)
        self._infos.clear()
        self._candidates.clear()
        self._deferred.clear()

    def _record(self, candidate: Candidate) -> _Deferred | None:
        """Record a candidate. Returns it if this mode can use it and it is new."""
        where = candidate.where
        if where in self._infos:
            return None
        self._infos[where] = _info(candidate, where)
        try:
            manifest = candidate.declared()
            check_version(manifest, where)
        except Exception as error:
            self._refuse(candidate, error)
            return None
        if manifest.name:
            candidate = replace(candidate, name=manifest.name)
            self._infos[where] = replace(self._infos[where], name=manifest.name)
        self._candidates[where] = candidate
        if not supports_mode(manifest, self._state.connection.mode):
            return None
        return _Deferred(candidate=candidate, manifest=manifest, loading=asyncio.Lock())

    def _defer(self, deferred: _Deferred) -> None:
        """Add stand-ins for an extension."""
        where = deferred.candidate.where
        self._deferred[where] = deferred
        instance = self._instances[where] = self._instance(deferred.candidate)
        try:
            add_stand_ins(instance, deferred.manifest, lambda: self._activate(deferred))
        except Exception as error:
            instance.scope.take_back()
            del self._deferred[where], self._instances[where]
            self._refuse(deferred.candidate, error)

    async def _activate(self, deferred: _Deferred) -> None:
        """Load a deferred extension on its first use. Raises ``ExtensionError`` if that fails."""
        candidate = deferred.candidate
        async with deferred.loading:
            if self._is_deferred(deferred):
                await self._unload_one(candidate.where)
                try:
                    await self._start(candidate)
                except asyncio.CancelledError:
                    # The first use was cancelled: wait for the next one.
                    if self._is_deferred(deferred):
                        self._defer(deferred)
                    raise
                if self._is_deferred(deferred):
                    del self._deferred[candidate.where]
        if problem := self._infos[candidate.where].problem:
            raise ExtensionError(problem)

    def _is_deferred(self, deferred: _Deferred) -> bool:
        """Whether it is still deferred, in the current session."""
        return self._deferred.get(deferred.candidate.where) is deferred

    async def _start(self, candidate: Candidate) -> None:
        """Import an extension and call its function; on failure nothing of it remains."""
        # Deferred import: most extensions wait, and the API imports every part of the host.
        from pi.coding.extension_host.api.api import ExtensionAPI

        self._stalls.watch()
        began = self._state.clock.monotonic()
        where = candidate.where
        instance = self._instances[where] = self._instance(candidate)
        try:
            function = modules.factory_of(candidate)
            api = ExtensionAPI(instance)
            await contained(partial(function, api), self._state.watchdog.watch)
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self._unload_one(where)
            raise
        except BaseException as error:  # extension code can raise anything
            await self._unload_one(where)
            self._refuse(candidate, error)
            return
        took = (self._state.clock.monotonic() - began) * 1000
        info = _info(candidate, where)
        self._infos[where] = replace(info, state="loaded", milliseconds=took)

    async def _unload_one(self, where: str) -> None:
        instance = self._instances.pop(where, None)
        if instance is not None:
            await instance.scope.close()

    def _refuse(self, candidate: Candidate, error: BaseException) -> None:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ExtensionError):
            reason = error.explain()
        where = candidate.where
        log.warning("extension %s was not loaded", where, exc_info=error)
        info = _info(candidate, where)
        self._infos[where] = replace(info, state="failed", problem=reason)
        self._report(f"Warning: extension {where} was not loaded: {reason}")

    def _instance(self, candidate: Candidate) -> LoadedExtension:
        number = [*self._infos].index(candidate.where)
        return build_extension(candidate, number, self._state, self._renewed)

    def _renewed(self, where: str) -> CommandContext | None:
        """The command context of an extension in the current session."""
        new = self._instances.get(where)
        return None if new is None else new.command_context


def _info(candidate: Candidate, where: str) -> ExtensionInfo:
    return ExtensionInfo(
        name=candidate.name,
        path=where,
        rank=candidate.rank,
        source=candidate.source.source,
    )


_ALWAYS = {"startup", "session"}
_SHOWN = {
    "command": "/{}",
    "flag": "--{}",
    "selected": "--tools {}",
    "setting": "setting {}",
    "tool": "tool {}",
    "variable": "variable {}",
}


def _declared(candidate: Candidate | None) -> dict[str, Any]:
    """The description of an extension, and what loads it."""
    if candidate is None:
        return {}
    try:
        manifest = candidate.declared()
    except (ExtensionError, OSError):  # it failed, and that is reported
        return {}
    triggers = (trigger.partition(":") for trigger in manifest.activate)
    shown = tuple(_SHOWN[kind].format(name) for kind, _, name in triggers if kind in _SHOWN)
    is_always = not _ALWAYS.isdisjoint(manifest.activate)
    return {
        "description": manifest.description or _first_line(candidate.path),
        "activation": () if is_always else shown,
    }


_MAX_SOURCE = 64 * 1024


def _first_line(path: Path | None) -> str:
    """The first line of the docstring of an extension; empty if there is none."""
    if path is None:
        return ""
    import ast  # deferred: for lists of extensions only

    try:
        source = read_regular(path / "__init__.py" if path.is_dir() else path)
        text = ast.get_docstring(ast.parse(source[:_MAX_SOURCE])) or ""
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ""
    return text.partition("\n")[0].strip()


def forget_candidates(candidates: Iterable[Candidate]) -> None:
    """Drop the modules of extensions, so that the next load imports them again."""
    for candidate in candidates:
        modules.forget_modules(candidate)
