"""The packages of a session: those that settings name, and those that ``-e`` names."""

from __future__ import annotations

from pathlib import Path

from pi.coding.packages.discovery import Layer, Package, find_packages, layers_of
from pi.coding.packages.programs import Programs
from pi.coding.packages.session_packages import PackageStores, fetch_missing, layer_for_one_run
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.settings.settings import Settings


def stores_here(cwd: Path, host: Machine, settings: Settings, *, offline: bool) -> PackageStores:
    """Where packages are installed, with the programs that settings name."""
    programs = Programs(
        environ=host.environ, npm_command=settings.values.npm_command, offline=offline
    )
    return PackageStores(agent_dir=host.agent_dir, cwd=cwd, programs=programs, clock=host.clock)


class SessionPackages:
    """The packages of one working directory."""

    def __init__(
        self, cwd: Path, host: Machine, settings: Settings, options: SessionOptions
    ) -> None:
        self._stores = stores_here(cwd, host, settings, offline=host.offline or options.offline)
        self._report = host.report
        self._settings = settings
        self._explicit = options.extensions.paths

    async def fetch(self) -> None:
        """Install those that are missing, and tell it."""
        await fetch_missing(self._layers(), self._stores, self._report)

    def found(self) -> tuple[tuple[Package, ...], tuple[str, ...]]:
        """Those that are there, and what is wrong with others; nothing of them is run."""
        found = find_packages(self._layers())
        return found.packages, found.warnings

    def _layers(self) -> tuple[Layer, ...]:
        stores = self._stores
        explicit = layer_for_one_run(self._explicit, stores.cwd, stores.location("temporary"))
        return (explicit, *layers_of(self._settings, stores.agent_dir, stores.cwd))
