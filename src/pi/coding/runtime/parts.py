"""What a caller gives a session instead of having it discovered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.models.model import Model
from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.bus import Bus
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.model_selection import LastResort
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import Shelf, new_session
from pi.coding.settings.settings import Settings
from pi.coding.trust.trust import AskPerson, Trust

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.stalls import OnStall
    from pi.coding.extension_host.ui import ExtensionUI, Mode

OpenLog = Callable[[Shelf], SessionLog]
"""Makes or opens the session that is wanted."""


class Parts(Record):
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
    ask_trust: AskPerson | None = None
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
