"""Where the extensions of a session are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pi.base.errors import PiError
from pi.coding.extension_host import finding
from pi.coding.extension_host.entry_points import installed
from pi.coding.extension_host.finding import Candidate, Found
from pi.coding.resources.selection import Selection
from pi.coding.resources.source import Place
from pi.coding.runtime.host import Host
from pi.coding.runtime.workspace import Workspace
from pi.coding.settings.file import SettingsFile
from pi.coding.settings.settings import Settings


class ExtensionPlaces:
    """Looks by name only: nothing of an extension is run, and nothing of a project before trust."""

    def __init__(self, machine: Host, wanted: finding.Wanted, settings: Settings | None) -> None:
        self._machine = machine
        self._wanted = wanted
        self._settings = settings
        self.foreign: list[str] = []
        """Files that need the original."""
        self._told = False

    def own(self, cwd: Path) -> Iterator[Candidate]:
        """Those that need no trust: installed ones, the person's, and those of the command line."""
        report = self._warn
        if self._wanted.discover:
            yield from installed(self._machine.agent_dir)
            folder = Place(path=self._machine.agent_dir / "extensions")
            listed = Selection.of(self._listed(), self._machine.agent_dir)
            yield from self._taken(finding.find(_places(folder, listed), "user", report, listed))
        yield from self._taken(finding.explicit(self._wanted.paths, cwd, report))
        yield from finding.inline(self._wanted.inline)

    def of_project(self, workspace: Workspace) -> Iterator[Candidate]:
        """Those of a trusted project."""
        if not self._wanted.discover or not workspace.trust.trusted:
            return
        base = workspace.cwd / ".pi"
        folder = Place(path=base / "extensions", scope="project")
        raw = workspace.settings.layer("project", ("extensions",))
        listed = Selection.of(_texts(raw), base)
        found = finding.find(_places(folder, listed), "project", self._warn, listed)
        yield from self._taken(found)

    def tell_foreign(self) -> None:
        """Say once, in one line, how many extensions only the original can run."""
        if self.foreign and not self._told:
            self._told = True
            self._machine.report(
                f"{len(self.foreign)} of the extensions here are written for the original pi"
                " and stay unused; /extensions lists them."
            )

    def _taken(self, found: Found) -> tuple[Candidate, ...]:
        self.foreign += [path for path in found.foreign if path not in self.foreign]
        return found.candidates

    def _listed(self) -> list[str]:
        if self._settings is not None:
            return _texts(self._settings.raw.get("extensions"))
        file = SettingsFile(self._machine.agent_dir / "settings.json", clock=self._machine.clock)
        try:
            return _texts(file.read().get("extensions"))
        except PiError:  # whoever reads all settings says what is wrong
            return []

    def _warn(self, text: str) -> None:
        self._machine.report(f"Warning: {text}")


def _places(folder: Place, listed: Selection) -> list[Place]:
    more = [
        Place(path=path, source="local", scope=folder.scope)
        for path in (*listed.paths, *listed.forced)
    ]
    return [folder, *more]


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
