"""The machine and the person that sessions run for; given once, at the rim."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pi.ai.factory import agent_directory
from pi.base.clock import Clock, SystemClock
from pi.base.ids import RandomBytes


def _ignore(text: str) -> None:
    """Nobody reads notices."""


@dataclass(frozen=True)
class Host:
    """What every session of a process shares, and nothing that changes."""

    environ: Mapping[str, str]
    home: Path
    agent_dir: Path
    temp_dir: Path
    clock: Clock = field(default_factory=SystemClock)
    random_bytes: RandomBytes = os.urandom
    report: Callable[[str], None] = _ignore
    """Told, in one line each, what the person should know: warnings and notices."""
    docs: Path = Path(__file__).parents[2] / "docs"
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
        return cls(
            environ=environ,
            home=Path(environ.get("HOME") or Path.home()),
            agent_dir=agent_dir or agent_directory(environ),
            temp_dir=Path(tempfile.gettempdir()),
            clock=clock or SystemClock(),
            report=report,
        )

    @property
    def offline(self) -> bool:
        """Whether nothing may be asked that nobody asked for."""
        return flag(self.environ, "PI_OFFLINE")


def flag(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable is set to yes."""
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")
