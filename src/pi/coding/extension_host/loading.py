"""Loading extensions into a session, one by one, and taking them out again."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from pi.base.clock import Clock
from pi.base.records import Record, replace
from pi.coding.extension_host import modules, registering
from pi.coding.extension_host.activation import is_for, wanted_at_start
from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.extension_ui import OwnedUI
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.instance import Instance, Shelves
from pi.coding.extension_host.lazy import stand_in
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.manifest import Manifest, check_version
from pi.coding.extension_host.model_registry import ExtensionModelRegistry
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.sending import Sending
from pi.coding.extension_host.stalls import Stalls
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.extension_host.watchdog import Watchdog

log = logging.getLogger(__name__)


class ExtensionInfo(Record):
    """What is known of one extension, for lists and ``--verbose``."""

    name: str
    path: str
    rank: str
    source: str = ""
    """The package that it is from, or how else it was found."""
    state: Literal["waiting", "loaded", "failed"] = "waiting"
    """``waiting`` until something happens that its manifest names, or if it is for other modes."""
    milliseconds: float = 0.0
    """What loading it took."""
    problem: str = ""
    """Why it could not be loaded."""


class Surroundings(Record):
    """What there is around extensions; asked anew every time, because it changes."""

    session: Callable[[], HostedSession | None]
    ui: Callable[[], ExtensionUI]
    mode: Callable[[], Mode]
    cwd: Path
    """Where pi was started."""


class _Waiting(Record):
    """An extension that may wait for its first use."""

    candidate: Candidate
    manifest: Manifest
    loading: asyncio.Lock
    """Held while it is being loaded: whoever needs it meanwhile waits, too."""


class Loading:
    """The extensions that are loaded now."""

    def __init__(
        self,
        shelves: Shelves,
        around: Surroundings,
        *,
        watchdog: Watchdog,
        stalls: Stalls,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self._shelves = shelves
        self._around = around
        self._watchdog = watchdog
        self._stalls = stalls
        self._clock = clock
        self._report = report
        self._numbers: dict[str, int] = {}
        """In the order of finding, which is that of loading however late one is loaded."""
        self._waiting: dict[str, _Waiting] = {}
        self._instances: dict[str, Instance] = {}
        self._infos: dict[str, ExtensionInfo] = {}
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
        self._numbers.clear()

    # ----------------------------------------------------------------------------------------------

    def _noted(self, candidate: Candidate) -> _Waiting | None:
        """An extension that can be used here, and is not used yet."""
        if candidate.where in self._infos:
            return None
        self._infos[candidate.where] = _info(candidate)
        self._numbers[candidate.where] = len(self._numbers)
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
            stand_in(instance, waiting.manifest, lambda: self._activate(waiting))
        except Exception as problem:
            instance.scope.take_back()
            del self._waiting[where], self._instances[where]
            self._refuse(waiting.candidate, problem)

    async def _activate(self, waiting: _Waiting) -> None:
        """Load an extension that was waiting for its first use; ``ExtensionError`` if it fails."""
        candidate = waiting.candidate
        async with waiting.loading:
            if self._waiting.get(candidate.where) is waiting:
                await self._unload_one(candidate.where)
                try:
                    await self._start(candidate)
                except asyncio.CancelledError:
                    self._wait(waiting)  # its first use was given up: there may be another
                    raise
                del self._waiting[candidate.where]
        if problem := self._infos[candidate.where].problem:
            raise ExtensionError(problem)

    async def _start(self, candidate: Candidate) -> None:
        """Import an extension and call its function; if that fails, nothing of it stays."""
        # Not at the top: most extensions wait, and the API knows every part of the host.
        from pi.coding.extension_host.api import ExtensionAPI

        self._stalls.watch()
        began = self._clock.monotonic()
        instance = self._instances[candidate.where] = self._instance(candidate)
        try:
            result = modules.factory_of(candidate)(ExtensionAPI(instance))
            if inspect.isawaitable(result):
                await self._watchdog.watch(result)
        except (asyncio.CancelledError, KeyboardInterrupt):
            await self._unload_one(candidate.where)
            raise
        except BaseException as problem:  # whatever a stranger's code raises stops no start
            await self._unload_one(candidate.where)
            self._refuse(candidate, problem)
            return
        took = (self._clock.monotonic() - began) * 1000
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

    def _instance(self, candidate: Candidate) -> Instance:
        owner = Owner(
            name=candidate.name,
            path=candidate.where,
            rank=candidate.rank,
            number=self._numbers[candidate.where],
        )
        scope = Scope(
            self._clock,
            name=owner.name,
            report=lambda what, problem: self._shelves.failed(owner, what, problem),
        )
        around = self._around
        link = Link(scope, around.session, around.cwd)
        sending = Sending(link, self._shelves.next_turn)
        ui = OwnedUI(
            around.ui,
            owner=owner,
            scope=scope,
            hooks=self._shelves.hooks,
            watchdog=self._watchdog,
            facts=self._shelves.registries.facts,
            failed=self._shelves.failed,
        )

        def renewed() -> CommandContext | None:
            new = self._instances.get(owner.path)
            return None if new is None else new.command_context

        models = ExtensionModelRegistry(
            link, lambda provider, config: registering.add_provider(made, provider, config)
        )
        made = Instance(
            owner=owner,
            source=candidate.source,
            scope=scope,
            link=link,
            context=ExtensionContext(link, ui, around.mode, models),
            command_context=CommandContext(link, ui, around.mode, models, sending, renewed),
            shelves=self._shelves,
        )
        return made


def _info(candidate: Candidate) -> ExtensionInfo:
    return ExtensionInfo(
        name=candidate.name,
        path=candidate.where,
        rank=candidate.rank,
        source=candidate.source.source,
    )


def forget(candidates: Iterable[Candidate]) -> None:
    """Have extensions imported anew the next time they are loaded."""
    for candidate in candidates:
        modules.forget(candidate)
