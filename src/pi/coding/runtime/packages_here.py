"""The packages of a session, from settings and ``-e``."""

from __future__ import annotations

from pathlib import Path

from pi.coding.packages.discovery import CODE, Layer, Package, find_packages, layers_of
from pi.coding.packages.programs import Programs
from pi.coding.packages.session_packages import PackageStores, fetch_missing, layer_for_one_run
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.settings.settings import Settings


def stores_here(cwd: Path, machine: Machine, settings: Settings, *, offline: bool) -> PackageStores:
    """Return the package stores, with the programs that the settings name."""
    programs = Programs(
        environ=machine.environ, npm_command=settings.values.npm_command, offline=offline
    )
    return PackageStores(
        agent_dir=machine.agent_dir,
        cwd=cwd,
        programs=programs,
        clock=machine.clock,
        check=why_not_loadable,
    )


def why_not_loadable(package: Package) -> str:
    """Return why an extension of a package cannot be loaded, from its manifest; empty if all can.

    The next start would skip the extension with a warning.
    """
    from pi.coding.extension_host.discovery.finding import find_candidates, read_manifests

    for kind in CODE:
        problems: list[str] = []
        found = find_candidates(package.places(kind), "package", problems.append).candidates
        problems += [each.problem for each in read_manifests(found) if each.problem]
        if problems:
            return problems[0]
    return ""


class SessionPackages:
    """The packages of one working directory."""

    def __init__(
        self, cwd: Path, machine: Machine, settings: Settings, options: SessionOptions
    ) -> None:
        self._stores = stores_here(
            cwd, machine, settings, offline=machine.offline or options.offline
        )
        self._report = machine.report
        stores, paths = self._stores, options.extensions.paths
        explicit = layer_for_one_run(paths, cwd, stores.location("temporary"))
        self._layers: tuple[Layer, ...] = (explicit, *layers_of(settings, stores.agent_dir, cwd))

    async def fetch(self) -> None:
        """Install missing packages and report them."""
        await fetch_missing(self._layers, self._stores, self._report)

    def found(self) -> tuple[tuple[Package, ...], tuple[str, ...]]:
        """Return installed packages, and error messages for others. Runs none of their code."""
        found = find_packages(self._layers)
        return found.packages, found.warnings
