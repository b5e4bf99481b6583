"""The machine and the person that sessions run for; given once, at the rim."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pi.ai.factory import agent_directory, config_root
from pi.base.clock import Clock, SystemClock
from pi.base.files import expand_home
from pi.base.ids import RandomBytes
from pi.base.records import Record, field
from pi.coding.runtime import dotenv
from pi.coding.settings.settings import Settings
from pi.coding.trust.store import TrustStore, nearest
from pi.coding.trust.trust import Trust


def _ignore(text: str) -> None:
    """Nobody reads notices."""


def _temporary(environ: Mapping[str, str]) -> Path:
    """Where files lie that nobody misses; ``tempfile`` finds it too, but takes longer."""
    named = (environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return next((Path(name) for name in named if name and Path(name).is_dir()), Path("/tmp"))


def _documentation(environ: Mapping[str, str]) -> Path:
    """Where the person says; beside the package where it is installed, at the top of a checkout."""
    if named := environ.get("PI_PACKAGE_DIR"):
        return expand_home(named) / "docs"
    installed = Path(__file__).parents[2] / "docs"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "docs"


class Host(Record):
    """What every session of a process shares, and nothing that changes."""

    environ: Mapping[str, str]
    """What pi sees, the person's own ``.env`` files included."""
    home: Path
    agent_dir: Path
    temp_dir: Path
    from_dotenv: frozenset[str] = frozenset()
    """Names of ``environ`` that only a ``.env`` file has; no child sees them."""
    clock: Clock = field(default_factory=SystemClock)
    random_bytes: RandomBytes = os.urandom
    report: Callable[[str], None] = _ignore
    """Told, in one line each, what the person should know: warnings and notices."""
    import_path: tuple[str, ...] | None = None
    """Where extensions may be installed; ``None`` means wherever Python imports from."""
    docs: Path = field(default_factory=lambda: _documentation({}))
    """Where pi's own documentation is."""

    @classmethod
    def of(
        cls,
        environ: Mapping[str, str],
        *,
        agent_dir: Path | None = None,
        clock: Clock | None = None,
        report: Callable[[str], None] = _ignore,
    ) -> Host:
        """The host that an environment describes."""
        home = Path(environ.get("HOME") or Path.home())
        agent_dir = agent_dir or agent_directory(environ)
        folders = (agent_dir, config_root(environ), home)
        files = [folder / dotenv.NAME for folder in folders]
        environment = dotenv.layered(environ, files, report)
        return cls(
            environ=environment.values,
            home=home,
            agent_dir=agent_dir,
            temp_dir=_temporary(environ),
            from_dotenv=environment.from_files,
            clock=clock or SystemClock(),
            report=report,
            docs=_documentation(environ),
        )

    @property
    def environment(self) -> dotenv.Environment:
        """The variables, and where they come from."""
        return dotenv.Environment(values=self.environ, from_files=self.from_dotenv)

    @property
    def offline(self) -> bool:
        """Whether nothing may be asked that nobody asked for."""
        return flag(self.environ, "PI_OFFLINE")


def flag(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable is set to yes."""
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def stored_trust(host: Host, cwd: Path) -> Trust:
    """What the user has decided about a project before, or always decides; nobody is asked."""
    decisions = TrustStore(host.agent_dir / "trust.json", clock=host.clock).decisions()
    own = Settings.of(host.agent_dir, cwd, clock=host.clock).values
    always, known = own.default_project_trust == "always", nearest(decisions, cwd)
    trusted = always if known is None else known
    return Trust(
        trusted=trusted, source="stored", decisions=decisions, by_default=trusted and always
    )


def settings_here(host: Host, cwd: Path, trust: Trust | None = None) -> Settings:
    """The user's settings and, if the user trusts it, the project's."""
    trust = trust or stored_trust(host, cwd)
    return Settings.of(host.agent_dir, cwd, trusted=trust.trusted, clock=host.clock)
