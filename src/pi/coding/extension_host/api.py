"""``ExtensionAPI``: the object that ``extension(pi)`` is given.

Four verbs: ``on`` (be told, or decide), ``register_*`` and ``add_*`` (contribute), ``wrap_*``
(stand around a model call or a tool), and ``scope`` (run something). Every registration gives a
handle with ``remove()`` and ends with the session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar, overload

from pi import __version__
from pi.coding.extension_host import registering
from pi.coding.extension_host.context import ExtensionContext
from pi.coding.extension_host.extension_auth import ExtensionAuth
from pi.coding.extension_host.extension_models import ExtensionModels
from pi.coding.extension_host.hooks import Handler
from pi.coding.extension_host.instance import Instance
from pi.coding.extension_host.members.commands import CommandMembers
from pi.coding.extension_host.members.drawing import DrawingMembers
from pi.coding.extension_host.members.models import ModelMembers
from pi.coding.extension_host.members.running import RunningMembers
from pi.coding.extension_host.members.saying import SayingMembers
from pi.coding.extension_host.members.shaping import ShapingMembers
from pi.coding.extension_host.members.tools import ToolMembers
from pi.coding.extension_host.order import At
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.services import ExtensionHttp, ExtensionSettings

H = TypeVar("H", bound=Handler)


class ExtensionAPI(
    ToolMembers,
    CommandMembers,
    DrawingMembers,
    ShapingMembers,
    ModelMembers,
    SayingMembers,
    RunningMembers,
):
    """What an extension can do. Handlers and commands are added while its function runs."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.name = instance.owner.name
        self.version = __version__
        """Of pi, for what extensions tell others."""
        self.scope: Scope = instance.scope
        """Tasks, timers and what is to be closed with the session."""
        self.context: ExtensionContext = instance.context
        """What handlers are given, for timers, tools and tasks."""
        self.events = registering.ScopedEvents(instance)
        """Events between extensions: ``on`` and ``emit``."""
        self.settings = ExtensionSettings(instance.link, instance.scope)
        self.auth = ExtensionAuth(instance)
        self.models = ExtensionModels(instance)
        self.http = ExtensionHttp(instance.link)
        self.log = logging.getLogger(f"pi.extensions.{instance.owner.name}")

    @overload
    def on(self, event: str, handler: None = None, *, at: At = "normal") -> Callable[[H], H]: ...

    @overload
    def on(self, event: str, handler: Handler, *, at: At = "normal") -> Registration: ...

    def on(
        self, event: str, handler: Handler | None = None, *, at: At = "normal"
    ) -> Registration | Callable[[H], H]:
        """Have ``handler(event, ctx)`` called at an event; also as a decorator."""
        if handler is not None:
            return registering.add_handler(self._instance, event, handler, at)

        def decorate(function: H) -> H:
            registering.add_handler(self._instance, event, function, at)
            return function

        return decorate
