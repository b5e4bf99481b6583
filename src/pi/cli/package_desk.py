"""What commands for packages work on: settings, trust, and what is installed."""

from __future__ import annotations

from pathlib import Path

from pi.cli.standard_streams import complain
from pi.coding.bus import Bus
from pi.coding.packages.discovery import (
    Configured,
    Layer,
    configured_packages,
    find_packages,
    layers_of,
)
from pi.coding.packages.entries import Entry
from pi.coding.packages.errors import NoMatchingPackage
from pi.coding.packages.source import LocalSource, parse_source, without_password
from pi.coding.packages.store import PackageStore
from pi.coding.resources.source import Scope
from pi.coding.runtime.host import Host
from pi.coding.runtime.packages_here import stores_here
from pi.coding.settings.file import SettingsFile
from pi.coding.settings.settings import Settings
from pi.coding.trust.store import TrustStore
from pi.coding.trust.trust import Trust, decide_trust


class PackageDesk:
    """The settings of a person and, if it is trusted, of a project, with their packages."""

    def __init__(self, host: Host, cwd: Path, settings: Settings) -> None:
        self.host, self.cwd = host, cwd
        self.may_change_project = False
        """Whether the project is trusted, or has nothing yet that would need trust."""
        self._settings = settings

    @classmethod
    async def open(cls, host: Host, cwd: Path, *, approve: bool | None) -> PackageDesk:
        """Decide about trust, then read what trust allows."""
        settings = Settings.of(host.agent_dir, cwd, clock=host.clock)
        desk = cls(host, cwd, settings)
        trust = await desk.decide(approve=approve)
        desk.may_change_project = trust.trusted or trust.source == "nothing to trust"
        if trust.trusted:
            settings.trust_project(SettingsFile(cwd / ".pi" / "settings.json", clock=host.clock))
        for warning in settings.warnings:
            warn(warning)
        return desk

    async def decide(self, *, approve: bool | None) -> Trust:
        """Whether the project, with what is in it now, is trusted."""
        return await decide_trust(
            self.cwd,
            TrustStore(self.host.agent_dir / "trust.json", clock=self.host.clock),
            home=self.host.home,
            bus=Bus(),
            flag=approve,
            default=self._settings.values.default_project_trust,
        )

    def store(self, scope: Scope) -> PackageStore:
        """Where packages of a scope are installed."""
        stores = stores_here(self.cwd, self.host, self._settings, offline=self.host.offline)
        return stores.store(scope)

    def configured(self) -> list[Configured]:
        """Every package that counts."""
        layers = layers_of(self._settings, self.host.agent_dir, self.cwd)
        return configured_packages(layers, warn)

    def find(self, text: str) -> Configured:
        """The package that is meant by a source; ``NoMatchingPackage`` if there is none."""
        identity = parse_source(text, self.cwd).identity
        for each in self.configured():
            if each.entry.source == text or each.source.identity == identity:
                return each
        raise NoMatchingPackage(without_password(text))

    def offers_anything(self, text: str, scope: Scope) -> bool:
        """Whether pi finds something in the package of a source that is installed."""
        source = parse_source(text, self.cwd)
        entry = Entry(source=str(source.path) if isinstance(source, LocalSource) else text)
        found = find_packages([Layer(shelf=self.store(scope).shelf, entries=(entry,))])
        return any(package.offered for package in found.packages)


def warn(text: str) -> None:
    """Tell what could not be used."""
    complain(f"Warning: {text}")
