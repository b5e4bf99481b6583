"""Where the packages of each scope are installed."""

from __future__ import annotations

from pathlib import Path

from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.packages.places import Shelf
from pi.coding.packages.programs import Programs
from pi.coding.packages.store import PackageStore
from pi.coding.resources.source import Scope

LOCK = ".packages.lock"
"""In the agent directory."""
TEMPORARY = "temporary"
"""Below the agent directory: what is fetched for one run, and found again by the next."""


class Stores(Record):
    """The shelves of a person in a project, and what fills them."""

    agent_dir: Path
    cwd: Path
    programs: Programs
    clock: Clock

    def shelf(self, scope: Scope) -> Shelf:
        """The shelf of a scope."""
        bases = {
            "user": self.agent_dir,
            "project": self.cwd / ".pi",
            "temporary": self.agent_dir / TEMPORARY,
        }
        return Shelf(scope=scope, base=bases[scope])

    def store(self, scope: Scope) -> PackageStore:
        """What installs to it."""
        lock = self.agent_dir / LOCK
        return PackageStore(self.shelf(scope), self.programs, lock=lock, clock=self.clock)
