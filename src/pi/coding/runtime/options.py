"""What the command line, or a program that embeds pi, wants of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from pi.agent.tools.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.bus import Bus
from pi.coding.extension_host.discovery.finding import ExtensionOptions as WantedExtensions
from pi.coding.models.registry import ModelRegistry
from pi.coding.resources.discovery import ResourceOptions
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from pi.coding.settings.settings import Settings
from pi.coding.trust import AskTrust, Trust

if TYPE_CHECKING:
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.watchdog import OnStall
    from pi.coding.port.ui import ExtensionUI, Mode


LastResort: TypeAlias = Callable[[], Awaitable[Model | None]]
"""Gives a model when nobody else can answer."""


class ToolFilter(Record):
    """Which tools are on."""

    only: tuple[str, ...] | None = None
    """``--tools``: these and no others."""
    without: tuple[str, ...] = ()
    """``--exclude-tools``; applied last."""
    built_in: bool = True
    any: bool = True
    """``--no-tools`` says no."""

    def within(self, limits: ToolFilter) -> ToolFilter:
        """These wishes as far as ``limits`` allow them."""
        only = self.only
        if limits.only is not None:
            only = limits.only if only is None else tuple(n for n in only if n in limits.only)
        return ToolFilter(
            only=only,
            without=(*limits.without, *self.without),
            built_in=self.built_in and limits.built_in,
            any=self.any and limits.any,
        )


class SessionOptions(Record):
    """Everything that may be said; what is left out is discovered or has its default."""

    model: str | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    models: tuple[str, ...] | None = None
    """Patterns of the models to cycle through."""
    tools: ToolFilter = ToolFilter()
    resources: ResourceOptions = ResourceOptions()
    extensions: WantedExtensions = WantedExtensions()
    approve: bool | None = None
    """Trust for this run; ``None`` leaves it to what is stored."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Beat the settings files, for this run."""
    name: str | None = None
    offline: bool = False


# What a caller gives a session instead of having it discovered.


OpenLog = Callable[[SessionLocation], SessionLog]
"""Makes or opens the session that is wanted."""


class SessionOverrides(Record):
    """What is given instead of being discovered; ``None`` means discover it."""

    registry: ModelRegistry | None = None
    auth_storage: AuthStorage | None = None
    """Where the registry, if it is discovered, finds credentials."""
    model: Model | None = None
    last_resort: LastResort | None = None
    settings: Settings | None = None
    """All settings: those of the project are not added to them."""
    tools: tuple[AgentTool, ...] = ()
    """Beside the built-in ones."""
    whole_prompt: str | None = None
    """Nothing is added to it."""
    open_log: OpenLog = new_session
    session_dir: Path | None = None
    persistent: bool = True
    stays_if_gone: bool = False
    """Whether a session whose folder is gone goes on in the one that was given."""
    ask_trust: AskTrust | None = None
    trust: Trust | None = None
    """What was decided for the session that this one works for; nobody is asked again."""
    bus: Bus | None = None
    parent: ExtensionHost | None = None
    """The extensions of the session that this one works for."""
    artifacts: Artifacts | None = None
    """Where that session keeps long outputs; this one keeps them there, too."""
    mode: Mode = "print"
    """How extensions are told that pi runs, until a mode says otherwise."""
    ui: ExtensionUI | None = None
    """How extensions reach the person before a mode says so: whether to trust the project."""
    on_stall: OnStall | None = None
    """Called, in a thread of its own, when an extension holds everything up."""
