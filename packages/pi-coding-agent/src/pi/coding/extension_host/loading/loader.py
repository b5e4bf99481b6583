"""Loads and unloads the extensions of a session one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pi.base.files import read_regular
from pi.base.installation import install_command
from pi.base.libraries import still_missing
from pi.base.records import Record, replace
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import Owner
from pi.coding.extension_host.api.context import CommandContext
from pi.coding.extension_host.api.host_state import HostState
from pi.coding.extension_host.api.loaded_extension import LoadedExtension
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.contributions.commands import (
    DeclaredCommand,
    ExtensionCommand,
    declared_commands,
)
from pi.coding.extension_host.contributions.flags import checked_flags
from pi.coding.extension_host.discovery.finding import (
    Candidate,
    DeclaredExtension,
)
from pi.coding.extension_host.discovery.manifest import (
    DEFERRABLE,
    ActivationState,
    LoadingTime,
    Manifest,
    depends_on_session,
    loading_times,
    triggered,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.session import SessionShutdownEvent, SessionStartEvent
from pi.coding.extension_host.loading import modules
from pi.coding.extension_host.loading.stand_ins import add_stand_ins
from pi.coding.extension_host.watchdog import Stalls
from pi.coding.port.extensions import ExtensionInfo

log = logging.getLogger(__name__)


class _UsableExtension(Record):
    """An extension that the session can use."""

    candidate: Candidate
    manifest: Manifest
    owner: Owner
    """Its path is the key of the extension in all tables of the loader."""
    time: LoadingTime
    """When it is loaded."""
    loading: asyncio.Lock
    """Held during loading, so that concurrent first uses load the extension once."""


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
        self._usable: dict[str, _UsableExtension] = {}
        """Extensions that this mode supports, loaded or not."""
        self._deferred: dict[str, _UsableExtension] = {}
        self._instances: dict[str, LoadedExtension] = {}
        self._infos: dict[str, ExtensionInfo] = {}
        """In discovery order. Load order is the same, even for extensions that load late."""
        self._candidates: dict[str, Candidate] = {}
        self._manifests: dict[str, Manifest] = {}
        self._declarations: dict[str, list[Callable[[], None]]] = {}
        """What removes the declared commands, flags and views of an extension."""

    @property
    def is_empty(self) -> bool:
        """Whether no extension is loaded or deferred."""
        return not self._infos

    @property
    def usable(self) -> list[Candidate]:
        """Every extension that was found and has not failed."""
        return [
            candidate
            for path, candidate in self._candidates.items()
            if self._infos[path].state != "failed"
        ]

    @property
    def infos(self) -> list[ExtensionInfo]:
        """Every extension that was found, including failed ones, with its registrations."""
        registries = self._state.registries
        return [
            replace(
                info,
                adds=registries.registered_by(path),
                **_manifest_fields(self._candidates.get(path)),
            )
            for path, info in self._infos.items()
        ]

    def owner_of(self, module: str) -> Owner | None:
        """The owner of a module; ``None`` if no loaded extension owns it."""
        for path, candidate in [*self._candidates.items()]:
            instance, name = self._instances.get(path), modules.module_of(candidate)
            if instance is not None and (module == name or module.startswith(f"{name}.")):
                return instance.owner
        return None

    async def load(self, declared: Sequence[DeclaredExtension]) -> None:
        """Load extensions one after another; a failure is reported and does not stop the others."""
        for extension, time in zip(declared, self._loading_times(declared), strict=True):
            usable = self._record(extension, time)
            if usable is not None and time == "start":
                await self._start(usable)
            elif usable is not None:
                self._defer(usable)
        await self._load_resolvers()

    def add_deferred(self, declared: Sequence[DeclaredExtension]) -> None:
        """Add stand-ins for extensions that load on first use."""
        for extension, time in zip(declared, self._loading_times(declared), strict=True):
            if (usable := self._record(extension, time)) is not None:
                self._defer(usable)

    def _loading_times(self, declared: Sequence[DeclaredExtension]) -> list[LoadingTime]:
        manifests = [extension.manifest for extension in declared]
        return loading_times(manifests, self._state.flags, self._state.connection.mode)

    async def load_triggered(self, state: ActivationState) -> None:
        """Load the deferred extensions that the state triggers; failures are reported."""
        manifests = {path: deferred.manifest for path, deferred in self._deferred.items()}
        for path in triggered(manifests, state):
            if (deferred := self._deferred.get(path)) is not None:
                with suppress(ExtensionError):  # reported already
                    await self._activate(deferred)
        await self._load_resolvers()

    async def load_command(self, command: DeclaredCommand) -> ExtensionCommand:
        """Return the registered command; loads its extension if that was not done.

        Raises ``ExtensionError`` if loading fails, or if the code does not register the command.
        """
        path = command.owner.path
        if (deferred := self._deferred.get(path)) is not None:
            await self._activate(deferred)
        registered = self._state.registries.commands.registered(path, command.name)
        if registered is None:
            raise ExtensionError(
                f"{path} has no command /{command.name}.",
                hint="Its manifest declares it: register the command, or correct the manifest.",
            )
        return registered

    def is_loaded(self, path: str) -> bool:
        """Whether the code of an extension runs."""
        return path in self._infos and self._infos[path].state == "loaded"

    async def start(self, path: str) -> None:
        """Load an extension in a running session, and emit the start of the session to it.

        A failure is reported, and in its ``ExtensionInfo``.
        """
        before = {loaded_path for loaded_path in self._infos if self.is_loaded(loaded_path)}
        if (deferred := self._deferred.get(path)) is not None:
            with suppress(ExtensionError):  # reported already
                await self._activate(deferred)
        await self._load_resolvers()
        for loaded_path in [*self._infos]:
            if self.is_loaded(loaded_path) and loaded_path not in before:
                await self._state.bus.emit(SessionStartEvent(reason="reload"), to=loaded_path)

    async def stop(self, path: str) -> None:
        """Unload an extension in a running session; a trigger loads it again."""
        if not self.is_loaded(path):
            return
        await self._state.bus.emit(SessionShutdownEvent(reason="reload"), to=path)
        await self._unload_one(path)
        usable = self._usable[path]
        self._infos[path] = replace(self._infos[path], state="waiting", milliseconds=0.0)
        self._defer(usable)

    async def load_strategy(self, name: str) -> None:
        """Load deferred extensions that declare the compaction strategy; failures are reported."""
        for deferred in [*self._deferred.values()]:
            if name in deferred.manifest.triggers("strategy"):
                with suppress(ExtensionError):  # reported already
                    await self._activate(deferred)

    async def load_for_doctor(self) -> None:
        """Load deferred extensions with checks, unless a trigger depends on the session."""
        for deferred in [*self._deferred.values()]:
            if deferred.manifest.doctor and not depends_on_session(deferred.manifest):
                with suppress(ExtensionError):  # reported already
                    await self._activate(deferred)

    async def _load_resolvers(self) -> None:
        """Load extensions that resolve pending actions, if a tool may leave pending actions.

        Called before the first request: a tool that is declared later breaks the prompt cache.
        """
        if not any(
            registered.tool.deferrable
            for registered in self._state.registries.tools.values.values()
        ):
            return
        for deferred in [*self._deferred.values()]:
            if DEFERRABLE in deferred.manifest.activate:
                with suppress(ExtensionError):  # reported already
                    await self._activate(deferred)

    @property
    def manifests(self) -> list[Manifest]:
        """The manifests of the extensions that can be used."""
        return [*self.manifests_by_path().values()]

    def manifests_by_path(self) -> dict[str, Manifest]:
        """The manifests of the extensions that can be used, by the path of the extension."""
        return {
            path: manifest
            for path, manifest in self._manifests.items()
            if self._infos[path].state != "failed"
        }

    def manifest_at(self, path: str) -> Manifest:
        """The manifest of an extension, also of one that has failed; empty if it is invalid."""
        return self._manifests.get(path, Manifest())

    async def unload(self) -> None:
        """Unload all extensions in reverse order."""
        for path in reversed([*self._instances]):
            await self._unload_one(path)
        for path in [*self._declarations]:
            self._withdraw(path)
        self._infos.clear()
        self._candidates.clear()
        self._manifests.clear()
        self._deferred.clear()
        self._usable.clear()

    def _record(self, declared: DeclaredExtension, time: LoadingTime) -> _UsableExtension | None:
        """Record an extension. Returns it if this mode can use it and it is new."""
        candidate, path, manifest = declared.candidate, declared.identifier, declared.manifest
        if path in self._infos:
            return None
        number = len(self._infos)
        self._infos[path] = _new_info(candidate, path)
        if declared.problem:
            self._refuse(candidate, path, ExtensionError(declared.problem))
            return None
        if manifest.name:
            candidate = replace(candidate, name=manifest.name)
            self._infos[path] = replace(self._infos[path], name=manifest.name)
        self._candidates[path] = candidate
        self._manifests[path] = manifest
        owner = Owner(name=candidate.name, path=path, rank=candidate.rank, number=number)
        try:
            self._declare(candidate, manifest, owner, is_usable=time != "never")
        except ExtensionError as error:
            self._refuse(candidate, path, error)
            return None
        if time == "never":
            return None
        usable = self._usable[path] = _UsableExtension(
            candidate=candidate,
            manifest=manifest,
            owner=owner,
            time=time,
            loading=asyncio.Lock(),
        )
        return usable

    def _declare(
        self, candidate: Candidate, manifest: Manifest, owner: Owner, *, is_usable: bool
    ) -> None:
        """Register the commands, flags and views of a manifest, until the session ends.

        The code of the extension registers its own under the same names, which then win. Flags
        exist in every mode: an option of the command line is the same with ``-p`` and without.
        """
        registries = self._state.registries
        removals = self._declarations[owner.path] = []
        if manifest.flags:
            removals.append(registries.flags.add_all(checked_flags(manifest.flags), owner))
        if not is_usable:
            return
        commands = declared_commands(manifest, candidate.source, owner)
        removals += [registries.commands.declare(command) for command in commands]
        if manifest.views and not candidate.missing_requirements:
            removals.append(registries.views.add_all(manifest.views, owner))

    def _withdraw(self, path: str) -> None:
        """Remove the declarations of an extension."""
        for remove in self._declarations.pop(path, ()):
            remove()

    def _defer(self, deferred: _UsableExtension) -> None:
        """Keep an extension until it is triggered, and add stand-ins that load it on first use."""
        path = deferred.owner.path
        self._deferred[path] = deferred
        if deferred.time != "first use":
            return
        instance = self._instances[path] = self._instance(deferred)
        try:
            add_stand_ins(instance, deferred.manifest, lambda: self._activate(deferred))
        except Exception as error:
            self._refuse_deferred(deferred, error)

    def _refuse_deferred(self, deferred: _UsableExtension, error: Exception) -> None:
        """Remove the stand-ins of an extension with an invalid manifest."""
        path = deferred.owner.path
        self._instances.pop(path).scope.take_back()
        del self._deferred[path]
        self._refuse(deferred.candidate, path, error)

    async def _activate(self, deferred: _UsableExtension) -> None:
        """Load a deferred extension on its first use. Raises ``ExtensionError`` if that fails."""
        path = deferred.owner.path
        async with deferred.loading:
            if self._is_deferred(deferred):
                await self._unload_one(path)
                try:
                    await self._start(deferred)
                except asyncio.CancelledError:
                    # The first use was cancelled: the next one loads the extension.
                    if self._is_deferred(deferred):
                        self._defer(deferred)
                    raise
                if self._is_deferred(deferred):
                    del self._deferred[path]
        if reason := self._infos[path].problem:
            raise ExtensionError(reason)
        if DEFERRABLE not in deferred.manifest.activate:
            await self._load_resolvers()

    def _is_deferred(self, deferred: _UsableExtension) -> bool:
        """Whether it is still deferred, in the current session."""
        return self._deferred.get(deferred.owner.path) is deferred

    async def _start(self, usable: _UsableExtension) -> None:
        """Import an extension and call its function; a failure is reported and undone."""
        # Deferred import: most extensions are deferred, and the API imports all of the host.
        from pi.coding.extension_host.api.api import ExtensionAPI

        self._stalls.watch()
        began = self._state.clock.monotonic()
        candidate, path = usable.candidate, usable.owner.path
        instance = self._instances[path] = self._instance(usable)
        try:
            function = modules.factory_of(candidate)
            api = ExtensionAPI(instance)
            await contained(partial(function, api), self._state.watchdog.watch)
        except propagated_exceptions():
            await self._unload_one(path)
            raise
        except BaseException as error:  # extension code can raise anything
            await self._unload_one(path)
            self._refuse(candidate, path, error)
            return
        took = (self._state.clock.monotonic() - began) * 1000
        info = _new_info(candidate, path)
        self._infos[path] = replace(info, state="loaded", milliseconds=took)

    async def _unload_one(self, path: str) -> None:
        instance = self._instances.pop(path, None)
        if instance is not None:
            await instance.scope.close()

    def _refuse(self, candidate: Candidate, path: str, error: BaseException) -> None:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ExtensionError):
            reason = error.explain()
        self._withdraw(path)
        log.warning("extension %s was not loaded", path, exc_info=error)
        info = _new_info(candidate, path)
        self._infos[path] = replace(info, state="failed", problem=reason)
        self._report(f"Warning: extension {path} was not loaded: {reason}")

    def _instance(self, usable: _UsableExtension) -> LoadedExtension:
        return LoadedExtension(
            usable.owner, usable.candidate.source, self._state, self._command_context
        )

    def _command_context(self, path: str) -> CommandContext | None:
        """The command context of an extension in the current session."""
        new = self._instances.get(path)
        return None if new is None else new.command_context


def describe(candidate: Candidate) -> ExtensionInfo:
    """Return what is known of an extension that is not loaded."""
    return replace(_new_info(candidate, candidate.identifier), **_manifest_fields(candidate))


def _new_info(candidate: Candidate, path: str) -> ExtensionInfo:
    return ExtensionInfo(
        name=candidate.name,
        path=path,
        rank=candidate.rank,
        source=candidate.source.source,
    )


_ALWAYS = {"startup", "session"}
_SHOWN = {
    "command": "/{}",
    "flag": "--{}",
    "setting": "setting {}",
    "tool": "tool {}",
    "file": "file {}",
    "env": "variable {}",
    "view": "{}",
    "strategy": "/compact strategy:{}",
}


def _manifest_fields(candidate: Candidate | None) -> dict[str, Any]:
    """Fields of ``ExtensionInfo`` from the manifest: description, triggers, setting, extras."""
    if candidate is None:
        return {}
    try:
        manifest = candidate.declared()
    except (ExtensionError, OSError):  # reported when the extension was recorded
        return {}
    triggers = (trigger.partition(":") for trigger in manifest.activate)
    activation = tuple(_SHOWN[kind].format(name) for kind, _, name in triggers if kind in _SHOWN)
    if DEFERRABLE in manifest.activate:
        activation += ("tools with pending actions",)
    # A session that runs may have installed them.
    needs = still_missing(candidate.missing_requirements)
    is_always = not _ALWAYS.isdisjoint(manifest.activate)
    return {
        "name": manifest.name or candidate.name,
        "description": manifest.description or _first_line(candidate.path),
        "activation": () if is_always else activation,
        "switch": next(iter(manifest.triggers("setting")), ""),
        "benefit": manifest.benefit,
        "recommended": manifest.recommended if candidate.rank == "bundled" else {},
        "is_recommended": candidate.rank == "bundled" and bool(manifest.recommended),
        "needs": needs,
        "install": install_command(needs),
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
