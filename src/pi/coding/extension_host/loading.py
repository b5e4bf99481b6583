"""Loading extensions into a session, one by one, and taking them out again."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable
from itertools import count

from pi.base.clock import Clock
from pi.base.records import Record, replace
from pi.coding.extension_host import modules
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.extension_ui import OwnedUI
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.instance import Instance, Shelves
from pi.coding.extension_host.lazy import stand_in
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.manifest import Manifest, check_version, read_manifest
from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.extension_host.watchdog import Watchdog

log = logging.getLogger(__name__)


class ExtensionInfo(Record):
    """What is known of one extension, for lists and ``--verbose``."""

    name: str
    path: str
    rank: str
    milliseconds: float = 0.0
    """What loading it took; 0 as long as it waits for its first use."""
    problem: str = ""


class Surroundings(Record):
    """What there is around extensions; asked anew every time, because it changes."""

    session: Callable[[], HostedSession | None]
    ui: Callable[[], ExtensionUI]
    mode: Callable[[], Mode]


class Loading:
    """The extensions that are loaded now."""

    def __init__(
        self,
        shelves: Shelves,
        around: Surroundings,
        *,
        watchdog: Watchdog,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self._shelves = shelves
        self._around = around
        self._watchdog = watchdog
        self._clock = clock
        self._report = report
        self._numbers = count()
        self._instances: dict[str, Instance] = {}
        self._infos: dict[str, ExtensionInfo] = {}

    @property
    def infos(self) -> list[ExtensionInfo]:
        """Every extension that was found, also those that could not be loaded."""
        return list(self._infos.values())

    async def load(self, candidates: Iterable[Candidate]) -> None:
        """Load extensions one after another; one that fails is named and stops no other."""
        for candidate in candidates:
            if candidate.where not in self._infos:
                await self._load_one(candidate)

    async def unload(self) -> None:
        """End all of them; those that came later end first."""
        for where in reversed([*self._instances]):
            await self._unload_one(where)
        self._infos.clear()

    async def activate(self, candidate: Candidate) -> None:
        """Load an extension that was waiting for its first use; ``ExtensionError`` if it fails."""
        await self._unload_one(candidate.where)
        await self._start(candidate)
        if problem := self._infos[candidate.where].problem:
            raise ExtensionError(problem)

    # ----------------------------------------------------------------------------------------------

    async def _load_one(self, candidate: Candidate) -> None:
        self._infos[candidate.where] = _info(candidate)
        try:
            manifest = Manifest() if candidate.path is None else read_manifest(candidate.path)
            check_version(manifest, candidate.where)
        except Exception as problem:
            self._refuse(candidate, problem)
            return
        if manifest.name:
            candidate = replace(candidate, name=manifest.name)
        if manifest.lazy:
            instance = self._instances[candidate.where] = self._instance(candidate)
            stand_in(instance, manifest, lambda: self.activate(candidate))
        else:
            await self._start(candidate)

    async def _start(self, candidate: Candidate) -> None:
        """Import an extension and call its function; if that fails, nothing of it stays."""
        began = self._clock.monotonic()
        instance = self._instances[candidate.where] = self._instance(candidate)
        try:
            result = modules.factory_of(candidate)(ExtensionAPI(instance))
            if inspect.isawaitable(result):
                await self._watchdog.watch(result)
        except (Exception, SystemExit) as problem:
            await self._unload_one(candidate.where)
            self._refuse(candidate, problem)
            return
        took = (self._clock.monotonic() - began) * 1000
        self._infos[candidate.where] = replace(_info(candidate), milliseconds=took)

    async def _unload_one(self, where: str) -> None:
        instance = self._instances.pop(where, None)
        if instance is not None:
            await instance.scope.close()

    def _refuse(self, candidate: Candidate, problem: BaseException) -> None:
        told = f"{type(problem).__name__}: {problem}"
        if isinstance(problem, ExtensionError):
            told = problem.explain()
        log.warning("the extension %s was not loaded", candidate.where, exc_info=problem)
        self._infos[candidate.where] = replace(_info(candidate), problem=told)
        self._report(f"Warning: extension {candidate.where} was not loaded: {told}")

    def _instance(self, candidate: Candidate) -> Instance:
        owner = Owner(
            name=candidate.name,
            path=candidate.where,
            rank=candidate.rank,
            number=next(self._numbers),
        )
        scope = Scope(
            self._clock,
            name=owner.name,
            report=lambda what, problem: self._shelves.failed(owner, what, problem),
        )
        around = self._around
        link = Link(scope, around.session)
        ui = OwnedUI(around.ui, scope, self._shelves.hooks, self._watchdog)

        def renewed() -> CommandContext | None:
            new = self._instances.get(owner.path)
            return None if new is None else new.command_context

        return Instance(
            owner=owner,
            source=candidate.source,
            scope=scope,
            link=link,
            context=ExtensionContext(link, ui, around.mode),
            command_context=CommandContext(link, ui, around.mode, renewed),
            shelves=self._shelves,
        )


def _info(candidate: Candidate) -> ExtensionInfo:
    return ExtensionInfo(name=candidate.name, path=candidate.where, rank=candidate.rank)


def forget(candidates: Iterable[Candidate]) -> None:
    """Have extensions imported anew the next time they are loaded."""
    for candidate in candidates:
        modules.forget(candidate)
