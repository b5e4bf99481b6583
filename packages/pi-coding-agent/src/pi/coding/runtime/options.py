"""Options and overrides of a session, from the command line or an embedding program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import field

from pi.agent.policy import Policy
from pi.agent.tools.names import tool_matches
from pi.agent.tools.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.bus import EventBus
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.results import TaskOptions
from pi.coding.resources.discovery import ResourceOptions
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from pi.coding.settings.option_names import OptionNames
from pi.coding.settings.settings import Settings, Unreadable
from pi.coding.trust import AskTrust, Trust

if TYPE_CHECKING:
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.watchdog import OnStall
    from pi.coding.port.ui import ExtensionUI, Mode


LastResort: TypeAlias = Callable[[], Awaitable[Model | None]]
"""Returns a model if no other one is available."""


class ToolFilter(Record):
    """The tools that may be active."""

    only: tuple[str, ...] | None = None
    """``--tools``: only these."""
    changes: tuple[str, ...] = ()
    """``--tools +name,-name``: changes of the tools that are active otherwise."""
    without: tuple[str, ...] = ()
    """``--exclude-tools``; applied last."""
    built_ins: tuple[str, ...] | None = None
    """Of the built-in tools only these, all active; other tools are not affected."""
    built_in: bool = True
    any: bool = True
    """False for ``--no-tools``."""

    @property
    def replaces(self) -> bool:
        """Whether the tools of a resumed session are replaced by those of this filter."""
        is_partial = self.any and self.built_in and self.built_ins is None
        return self.only is not None or not is_partial

    def within(self, limits: ToolFilter) -> ToolFilter:
        """Restrict this filter by ``limits``."""
        only = self.only
        if limits.only is not None:
            only = limits.only if only is None else _in_both(only, limits.only)
        return ToolFilter(
            only=only,
            changes=(*limits.changes, *self.changes),
            without=(*limits.without, *self.without),
            built_ins=limits.built_ins if self.built_ins is None else self.built_ins,
            built_in=self.built_in and limits.built_in,
            any=self.any and limits.any,
        )


def _in_both(names: tuple[str, ...], limits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names and patterns that both lists allow."""
    narrow = (name for name in names if any(tool_matches(limit, name) for limit in limits))
    wide = (limit for limit in limits if any(tool_matches(name, limit) for name in names))
    return tuple(dict.fromkeys((*narrow, *wide)))


class SessionOptions(Record):
    """Options of a session; omitted ones are discovered or have a default."""

    model: str | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    models: tuple[str, ...] | None = None
    """Patterns of the models to cycle through."""
    tools: ToolFilter = ToolFilter()
    resources: ResourceOptions = ResourceOptions()
    extensions: ExtensionOptions = ExtensionOptions()
    approve: bool | None = None
    """Trust for this run; ``None`` uses the stored decision."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Values that override the settings files for this run."""
    unreadable_settings: Unreadable = "refuse"
    """What a settings file that cannot be read does: the session does not start, or it starts with
    all guards at their strictest."""
    config_files: tuple[str, ...] = ()
    """``--config``: files with settings, above those of the project; later ones win."""
    name: str | None = None
    offline: bool = False
    task: TaskOptions = TaskOptions()
    """The task that the session works on for another one."""
    names: OptionNames = OptionNames()


OpenLog = Callable[[SessionLocation], SessionLog]
"""Creates or opens the log of the session."""


class SessionOverrides(Record):
    """Objects that replace discovered ones; ``None`` means discover."""

    registry: ModelRegistry | None = None
    auth_storage: AuthStorage | None = None
    """Credentials for the registry, if it is discovered."""
    model: Model | None = None
    last_resort: LastResort | None = None
    settings: Settings | None = None
    """The settings that those of the session derive from; those of the project are not added."""
    tools: tuple[AgentTool, ...] = ()
    """In addition to the built-in ones."""
    policies: tuple[Policy, ...] = ()
    """In addition to those of pi and of extensions."""
    whole_prompt: str | None = None
    """Replaces the system prompt; nothing is added."""
    headless: bool = False
    """Whether no user can answer; the system prompt says so."""
    prompt_sections: Mapping[str, str] = field(default_factory=dict)
    """Further sections of the system prompt, of this session alone: sub-agents do not get them."""
    open_log: OpenLog = new_session
    reads_log: bool = False
    """Whether ``open_log`` reads a stored session; then it is called in a thread."""
    session_dir: Path | None = None
    persistent: bool = True
    stays_if_gone: bool = False
    """Whether a session whose directory no longer exists continues in the current one."""
    ask_trust: AskTrust | None = None
    reports_skipped: bool = True
    """Whether files that are skipped for lack of trust are reported."""
    trust: Trust | None = None
    """The trust decision of the parent session; the user is not asked again."""
    bus: EventBus | None = None
    parent: ExtensionHost | None = None
    """The extensions of the parent session."""
    artifacts: Artifacts | None = None
    """The artifacts of the parent session; this session stores its own there, too."""
    mode: Mode = "print"
    """The mode that extensions get until a mode is attached."""
    ui: ExtensionUI | None = None
    """The user interface before a mode is attached: for the trust question."""
    on_stall: OnStall | None = None
    """Called in the watching thread when an extension blocks the event loop."""

    @property
    def shows_session(self) -> bool:
        """Whether a client may ask for counts and totals of the session at any time."""
        return self.mode not in ("print", "json")
