"""Loading extensions into a session, one by one, and taking them out again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from pi.base.records import Record, replace
from pi.coding.bus import Owner
from pi.coding.extension_host.api.context import CommandContext
from pi.coding.extension_host.api.host_state import HostEnvironment, Shelves
from pi.coding.extension_host.api.loaded_extension import LoadedExtension, build_extension
from pi.coding.extension_host.discovery.finding import Candidate
from pi.coding.extension_host.discovery.manifest import (
    Manifest,
    check_version,
    is_for,
    wanted_at_start,
)
from pi.coding.extension_host.errors import ExtensionError, contained
from pi.coding.extension_host.loading import modules
from pi.coding.extension_host.loading.stand_ins import add_stand_ins
from pi.coding.extension_host.watchdog import Stalls
from pi.coding.port.extensions import ExtensionInfo

log = logging.getLogger(__name__)


class _Waiting(Record):
    """An extension that may wait for its first use."""

    candidate: Candidate
    manifest: Manifest
    loading: asyncio.Lock
    """Held while it is being loaded: whoever needs it meanwhile waits, too."""


class ExtensionLoader:
    """The extensions that are loaded now."""

    def __init__(
        self,
        shelves: Shelves,
        around: HostEnvironment,
        *,
        stalls: Stalls,
        report: Callable[[str], None],
    ) -> None:
        self._shelves = shelves
        self._around = around
        self._stalls = stalls
        self._report = report
        self._waiting: dict[str, _Waiting] = {}
        self._instances: dict[str, LoadedExtension] = {}
        self._infos: dict[str, ExtensionInfo] = {}
        """In the order of finding, which is that of loading however late one is loaded."""
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
        """Every extension that was found, also those that could not be loaded."""
        return list(self._infos.values())

    def whose(self, module: str) -> Owner | None:
        """The owner of a module, if it is one of an extension that runs."""
        for where, candidate in [*self._candidates.items()]:
            instance, name = self._instances.get(where), modules.module_of(candidate)
            if instance is not None and (module == name or module.startswith(f"{name}.")):
                return instance.owner
        return None

    async def load(self, candidates: Iterable[Candidate]) -> None:
        """Load extensions one after another; one that fails is named and stops no other."""
        for candidate in candidates:
            found = self._noted(candidate)
            if found is None:
                continue
            if wanted_at_start(found.manifest, self._shelves.flags, self._around.mode()):
                await self._start(found.candidate)
            else:
                self._wait(found)

    def expect(self, candidates: Iterable[Candidate]) -> None:
        """Have something in the place of extensions that wait for their first use."""
        for candidate in candidates:
            if (found := self._noted(candidate)) is not None:
                self._wait(found)

    async def unload(self) -> None:
        """End all of them; those that came later end first."""
        for where in reversed([*self._instances]):
            await self._unload_one(where)
        self._infos.clear()
        self._candidates.clear()
        self._waiting.clear()

    # ----------------------------------------------------------------------------------------------

    def _noted(self, candidate: Candidate) -> _Waiting | None:
        """An extension that can be used here, and is not used yet."""
        if candidate.where in self._infos:
            return None
        self._infos[candidate.where] = _info(candidate)
        try:
            manifest = candidate.declared()
            check_version(manifest, candidate.where)
        except Exception as problem:
            self._refuse(candidate, problem)
            return None
        if manifest.name:
            candidate = replace(candidate, name=manifest.name)
            self._infos[candidate.where] = _info(candidate)
        self._candidates[candidate.where] = candidate
        if not is_for(manifest, self._around.mode()):
            return None
        return _Waiting(candidate=candidate, manifest=manifest, loading=asyncio.Lock())

    def _wait(self, waiting: _Waiting) -> None:
        """Have something in the place of an extension until it is used."""
        where = waiting.candidate.where
        self._waiting[where] = waiting
        instance = self._instances[where] = self._instance(waiting.candidate)
        try:
            add_stand_ins(instance, waiting.manifest, lambda: self._activate(waiting))
        except Exception as problem:
            instance.scope.take_back()
            del self._waiting[where], self._instances[where]
            self._refuse(waiting.candidate, problem)

    async def _activate(self, waiting: _Waiting) -> None:
        """Load an extension that was waiting for its first use; ``ExtensionError`` if it fails."""
        candidate = waiting.candidate
        async with waiting.loading:
            if self._waits(waiting):
                await self._unload_one(candidate.where)
                try:
                    await self._start(candidate)
                except asyncio.CancelledError:
                    if self._waits(waiting):  # its first use was given up: there may be another
                        self._wait(waiting)
                    raise
                if self._waits(waiting):
                    del self._waiting[candidate.where]
        if problem := self._infos[candidate.where].problem:
            raise ExtensionError(problem)

    def _waits(self, waiting: _Waiting) -> bool:
        """Whether it is still to be loaded, and belongs to the session that is there now."""
        return self._waiting.get(waiting.candidate.where) is waiting

    async def _start(self, candidate: Candidate) -> None:
        """Import an extension and call its function; if that fails, nothing of it stays."""
        # Not at the top: most extensions wait, and the API knows every part of the host.
        from pi.coding.extension_host.api.api import ExtensionAPI

        self._stalls.watch()
        began = self._around.clock.monotonic()
        instance = self._instances[candidate.where] = self._instance(candidate)
        try:
            function = modules.factory_of(candidate)
            api = ExtensionAPI(instance)
            await contained(partial(function, api), self._around.watchdog.watch)
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self._unload_one(candidate.where)
            raise
        except BaseException as problem:  # whatever a stranger's code raises stops no start
            await self._unload_one(candidate.where)
            self._refuse(candidate, problem)
            return
        took = (self._around.clock.monotonic() - began) * 1000
        self._infos[candidate.where] = replace(_info(candidate), state="loaded", milliseconds=took)

    async def _unload_one(self, where: str) -> None:
        instance = self._instances.pop(where, None)
        if instance is not None:
            await instance.scope.close()

    def _refuse(self, candidate: Candidate, problem: BaseException) -> None:
        told = f"{type(problem).__name__}: {problem}"
        if isinstance(problem, ExtensionError):
            told = problem.explain()
        log.warning("the extension %s was not loaded", candidate.where, exc_info=problem)
        self._infos[candidate.where] = replace(_info(candidate), state="failed", problem=told)
        self._report(f"Warning: extension {candidate.where} was not loaded: {told}")

    def _instance(self, candidate: Candidate) -> LoadedExtension:
        number = [*self._infos].index(candidate.where)
        return build_extension(candidate, number, self._shelves, self._around, self._renewed)

    def _renewed(self, where: str) -> CommandContext | None:
        """What commands of an extension are given in the session that is there now."""
        new = self._instances.get(where)
        return None if new is None else new.command_context


def _info(candidate: Candidate) -> ExtensionInfo:
    return ExtensionInfo(
        name=candidate.name,
        path=candidate.where,
        rank=candidate.rank,
        source=candidate.source.source,
    )


def forget_candidates(candidates: Iterable[Candidate]) -> None:
    """Have extensions imported anew the next time they are loaded."""
    for candidate in candidates:
        modules.forget_modules(candidate)
