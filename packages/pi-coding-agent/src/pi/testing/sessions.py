"""``make_session``: a complete session in a folder of a test, with a scripted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.ai.providers.faux import FauxProvider, Step
from pi.base.clock import Clock
from pi.base.testing import FakeClock

if TYPE_CHECKING:
    from pi.coding.runtime.session.agent_session import AgentSession

ENVIRON = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


async def make_session(
    folder: Path,
    *steps: Step,
    environ: Mapping[str, str] = ENVIRON,
    clock: Clock | None = None,
    persistent: bool = False,
    **options: Any,
) -> AgentSession:
    """Return a session that works in ``folder/project`` and answers from ``steps``.

    Its owner closes it.

    User files are in ``folder/home``. ``extensions`` are functions that take an ``ExtensionAPI``;
    no others are loaded. ``options`` are those of ``SessionOptions``.
    """
    # Lazy: most tests of an extension need no complete session.
    from pi.ai.auth.storage import AuthStorage
    from pi.ai.factory import create_models
    from pi.coding.extension_host.discovery.finding import ExtensionOptions
    from pi.coding.models.registry import ModelRegistry
    from pi.coding.runtime.assemble import assemble
    from pi.coding.runtime.machine import Machine
    from pi.coding.runtime.options import SessionOptions, SessionOverrides

    cwd, home, temporary = folder / "project", folder / "home", folder / "tmp"
    for directory in (cwd, home, temporary):
        directory.mkdir(parents=True, exist_ok=True)
    clock = clock or FakeClock()
    agent_dir = home / ".pi" / "agent"
    host = Machine(
        environ={**environ, "HOME": str(home)},
        home=home,
        agent_dir=agent_dir,
        temp_dir=temporary,
        clock=clock,
        import_path=(),
    )
    models = create_models(
        storage=AuthStorage(agent_dir / "auth.json"),
        environ=host.environ,
        clock=clock,
        cwd=cwd,
        folder=agent_dir,
    )
    models.register(FauxProvider(*steps))
    parts = SessionOverrides(registry=ModelRegistry(models), persistent=persistent)
    if isinstance(extensions := options.get("extensions"), Sequence):
        options["extensions"] = ExtensionOptions(discover=False, inline=tuple(extensions))
    session_options = SessionOptions(**{"model": "faux/faux", **options})
    return (await assemble(cwd, host, session_options, parts)).session
