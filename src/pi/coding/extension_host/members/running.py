"""What an extension runs, keeps, and shares with others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar, Unpack

from pi.base.processes import Child
from pi.coding.extension_host import registering
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.processes import (
    ExecOptions,
    ExecResult,
    Processes,
    SpawnOptions,
)
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.stores import Store, StorePlace, open_store
from pi.coding.extension_host.sub_sessions import SessionHandle, SubSession

T = TypeVar("T")


class RunningMembers(ApiMembers):
    """Runs programs and sessions, and keeps what others may use."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self._processes = Processes(instance.link, instance.scope)

    async def exec(self, argv: Sequence[str], **how: Unpack[ExecOptions]) -> ExecResult:
        """Run a program to its end: with ``stdin``, ``env``, ``cwd`` and a ``timeout``."""
        return await self._processes.exec(argv, **how)

    async def spawn(self, argv: Sequence[str], **how: Unpack[SpawnOptions]) -> Child:
        """Start a program to talk to; it ends with ``scope``, else with the session.

        One that is ``detached`` goes on when pi ends; its input, output and errors are null.
        """
        return await self._processes.spawn(argv, **how)

    async def shared(
        self, key: Hashable, make: Callable[[Scope], Awaitable[T]], *, linger: float = 0
    ) -> T:
        """What ``make`` gives, made once per process and closed when no session uses it."""
        user, report = self._instance.scope, partial(self._shelves.failed, self._instance.owner)
        return await self._shelves.shared.take(key, make, user=user, report=report, linger=linger)

    async def sub_session(self, spec: SubSession) -> SessionHandle:
        """Begin a nested session with the guards of this one; it ends with it."""
        nested = await self._link.session.control.open_nested(spec)
        return SessionHandle(nested, spec, self._instance.scope)

    def provide(self, name: str, service: object) -> Registration:
        """Offer something to other extensions."""
        return self._instance.add_name(self._registries.services, name, service)

    def service(self, name: str) -> Any:
        """What another extension offers; ``None`` if nobody does."""
        return self._registries.services.get(name)

    def store(self, place: StorePlace = "session") -> Store:
        """Small JSON values that are kept for this extension: ``get``, ``set``, ``delete``."""
        name = self._instance.owner.name
        return open_store(place, name, self._link.session, self._shelves.agent_dir)

    def when_idle(
        self,
        act: Callable[[SessionControl], Awaitable[None]],
        *,
        before_next_prompt: bool = True,
    ) -> Registration:
        """Have ``act`` replace or move the session as soon as the agent rests.

        The next prompt waits for it, unless it need not come ``before_next_prompt``.
        """
        return registering.when_idle(self._instance, act, before_next_prompt=before_next_prompt)
