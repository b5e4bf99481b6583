"""Finds the extensions of a session in all their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.extension_host.discovery import finding
from pi.coding.extension_host.discovery.entry_points import installed
from pi.coding.extension_host.discovery.finding import (
    Candidate,
    FoundExtensions,
)
from pi.coding.extension_host.discovery.manifest import (
    INTERACTIVE,
    ActivationState,
    Manifest,
    active_gates,
)
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.other_agents import project_paths
from pi.coding.resources.discovery import Selection
from pi.coding.resources.sources import Place, read_text
from pi.coding.resources.tolerant_files import entries_of, is_file, is_folder
from pi.coding.runtime.agent_offer import switched_off
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.workspace import Workspace
from pi.coding.settings.layers import nested
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:
    from pi.coding.bus import Rank
    from pi.coding.packages.discovery import Package


RECOMMENDED_IN_CORE = {"editor.attachFiles": True}
"""Settings of core that belong to the recommended set; those of batteries are in manifests."""


NOT_SEPARATE = frozenset({"llama.cpp", "codemode", "tool_search"})
"""Built-in extensions of the original that are no extensions here."""


class ExtensionSources:
    """Finds extensions by file name. Runs none of their code; reads trusted projects only."""

    def __init__(
        self,
        machine: Machine,
        options: finding.ExtensionOptions,
    ) -> None:
        self._machine = machine
        self._options = options
        self.flags = options.flags
        """Command-line options that are not pi's own."""
        self.foreign: list[str] = []
        """Files that only the original pi can run."""
        self._reported = False

    def own(self, cwd: Path, settings: Settings) -> Iterator[Candidate]:
        """Yield extensions that need no trust: installed, of the user, and of the command line.

        Of ``settings`` only the user's layer is read.
        """
        report = self.warn
        listed_entries = _strings_in(settings.layer("user", ("extensions",)))
        if self._options.discover:
            off = finding.switched_off_names(listed_entries) | self._explicit_names()
            for candidate in installed(self._machine.agent_dir, self._machine.import_path):
                if candidate.rank != "bundled" or candidate.name not in off:
                    yield candidate
            folder = Place(path=self._machine.agent_dir / "extensions")
            listed = Selection.of(_paths_in(listed_entries), self._machine.agent_dir)
            yield from self._candidates(
                finding.find_candidates((folder, *listed.places("user")), "user", report, listed)
            )
            yield from self._tools(Place(path=self._machine.agent_dir / "tools"), "user")
        elif self._options.keeps_guards:
            yield from self._batteries()
        yield from self._candidates(finding.explicit(self._files(cwd), cwd, report))
        yield from self._named_built_ins()
        yield from finding.inline(self._options.inline)
        yield from self._options.candidates

    def _explicit_names(self) -> frozenset[str]:
        """Return the names of ``-e builtin:NAME``."""
        return frozenset(filter(None, map(finding.built_in_name, self._options.paths)))

    def _named_built_ins(self) -> Iterator[Candidate]:
        """Yield the bundled extensions that ``-e builtin:NAME`` names; they load at the start."""
        if not (names := self._explicit_names()):
            return
        bundled = {
            candidate.name: candidate
            for candidate in installed(self._machine.agent_dir, self._machine.import_path)
            if candidate.rank == "bundled"
        }
        for name in sorted(names):
            if name in bundled:
                manifest = replace(bundled[name].declared(), activate=("startup",))
                yield replace(bundled[name], manifest=manifest, rank="explicit")
            elif name not in NOT_SEPARATE:
                from pi.base.fuzzy import did_you_mean  # lazy: for a mistyped name only

                # As for a file: a run without the extension would do something else.
                raise ExtensionError(
                    f"There is no bundled extension {name}.", hint=did_you_mean(name, bundled)
                )

    def recommended(self) -> Json:
        """Return the settings of ``batteries: "recommended"``.

        Batteries with a missing extra are left out; ``missing_extra_notes`` lists them.
        """
        settings = dict(RECOMMENDED_IN_CORE)
        for battery in self._batteries():
            if not battery.missing_requirements and battery.manifest is not None:
                settings |= battery.manifest.recommended
        return nested(settings)

    def missing_extra_notes(self) -> list[str]:
        """Return a line for each recommended battery whose extra is missing."""
        from pi.base.installation import install_command  # lazy: most installations lack nothing

        return [
            f"{battery.name} needs `{install_command(battery.missing_requirements)}`"
            for battery in self._batteries()
            if battery.missing_requirements and battery.manifest and battery.manifest.recommended
        ]

    def report_missing_extras(self) -> None:
        """Report the recommended batteries that are left out."""
        for line in self.missing_extra_notes():
            self._machine.report(f"Left out: {line}")

    def _batteries(self) -> list[Candidate]:
        """Return the bundled extensions, from the index; without a search only the guards."""
        if not (self._options.discover or self._options.keeps_guards):
            return []
        candidates = installed(self._machine.agent_dir, self._machine.import_path)
        bundled = (
            candidate
            for candidate in candidates
            if candidate.rank == "bundled" and not candidate.problem
        )
        return [
            candidate
            for candidate in bundled
            if self._options.discover or candidate.name in finding.GUARDS
        ]

    def of_workspace(self, workspace: Workspace) -> Iterator[Candidate]:
        """Yield the extensions of packages and of a trusted project."""
        yield from self.of_packages(workspace.packages)
        yield from self.of_project(workspace)

    def of_packages(self, packages: Iterable[Package]) -> Iterator[Candidate]:
        """Yield the extensions and tool files of packages."""
        tool_files: dict[str, Path] = {}
        for package in packages:
            explicit = package.configured.scope == "temporary"
            if not explicit and not self._options.discover:
                continue
            base = package.configured.root
            self._note_foreign(str(base / name) for name in package.foreign)
            functions = package.functions
            rank: Rank = "explicit" if explicit else "package"
            extensions = finding.find_candidates(package.places("extensions"), rank, self.warn)
            for candidate in self._candidates(extensions):
                function = functions.get(candidate.path) if candidate.path else None
                yield replace(
                    candidate,
                    import_root=package.import_root,
                    target=f":{function}" if function else "",
                )
            tools = self._candidates(
                finding.find_candidates(package.places("tools"), rank, self.warn)
            )
            for tool in tools:
                yield _tool_file(replace(tool, import_root=package.import_root), tool_files)

    def of_project(self, workspace: Workspace) -> Iterator[Candidate]:
        """Yield the extensions and tool files of a trusted project."""
        if not self._options.discover or not workspace.trust.trusted:
            return
        base = workspace.cwd / ".pi"
        folder = Place(path=base / "extensions", scope="project")
        raw = workspace.settings.layer("project", ("extensions",))
        listed = Selection.of(_paths_in(_strings_in(raw)), base)
        extensions = finding.find_candidates(
            (folder, *listed.places("project")), "project", self.warn, listed
        )
        yield from self._candidates(extensions)
        yield from self._tools(Place(path=base / "tools", scope="project"), "project")
        yield from self._tools_of_agents(workspace)

    def _tools_of_agents(self, workspace: Workspace) -> Iterator[Candidate]:
        """Yield the tool files for pi in folders of other agents, such as ``.claude/tools``."""
        home, use = self._machine.home, switched_off(workspace.settings)
        for _, directory, folder in project_paths(workspace.cwd, home, use, "tools"):
            if is_folder(folder) and workspace.trust.trusts(directory):
                for path in entries_of(folder):
                    if path.suffix == ".py" and is_file(path) and _imports_pi(path):
                        yield from self._tools(Place(path=path, scope="project"), "project")

    def report_foreign(self) -> None:
        """Report once, in one line, how many extensions only the original pi can run."""
        if self.foreign and not self._reported:
            self._reported = True
            one = len(self.foreign) == 1
            self._machine.report(
                f"{len(self.foreign)} of the extensions here {'is' if one else 'are'} written for"
                f" the original pi and {'stays' if one else 'stay'} unused; /extensions lists them."
            )

    def _files(self, cwd: Path) -> list[str]:
        """Return the ``-e`` arguments that are not packages."""
        if not self._options.paths:
            return []
        from pi.coding.runtime.packages_here import is_package  # lazy: few runs use ``-e``

        return [
            path
            for path in self._options.paths
            if finding.built_in_name(path) is None and not is_package(path, cwd)
        ]

    def _tools(self, folder: Place, rank: Rank) -> Iterator[Candidate]:
        """Yield the tool-only files of a folder."""
        tool_files: dict[str, Path] = {}
        candidates = self._candidates(finding.find_candidates([folder], rank, self.warn))
        yield from (_tool_file(candidate, tool_files) for candidate in candidates)

    def _candidates(self, extensions: FoundExtensions) -> tuple[Candidate, ...]:
        self._note_foreign(extensions.foreign)
        return extensions.candidates

    def _note_foreign(self, paths: Iterable[str]) -> None:
        self.foreign += [path for path in paths if path not in self.foreign]

    def warn(self, text: str) -> None:
        """Report a warning to the user."""
        self._machine.report(f"Warning: {text}")


def gates_in(machine: Machine, cwd: Path, settings: Settings) -> tuple[str, ...]:
    """Return the names of project files that enabled extensions read.

    For commands without a session, such as ``pi doctor``; flags of the command line do not count.
    """
    manifests = _manifests(machine, cwd, settings)
    state = ActivationState(
        cwd=cwd,
        home=machine.home,
        agent_dir=machine.agent_dir,
        environ=machine.environ,
        settings=settings.raw,
    )
    return active_gates(manifests, state, {}, INTERACTIVE)


def strategies_in(machine: Machine, cwd: Path, settings: Settings) -> tuple[str, ...]:
    """Return the compaction strategies that extensions declare, for ``pi doctor``."""
    return tuple(
        name for manifest in _manifests(machine, cwd, settings) for name in manifest.strategies
    )


def _manifests(machine: Machine, cwd: Path, settings: Settings) -> list[Manifest]:
    """Return the manifests of the extensions that need no trust."""
    manifests = []
    sources = ExtensionSources(machine, finding.ExtensionOptions())
    settings.recommend(sources.recommended)
    for candidate in sources.own(cwd, settings):
        try:
            manifests.append(candidate.declared())
        except PiError:  # reported when the extension is loaded
            continue
    return manifests


def _tool_file(candidate: Candidate, tool_files: dict[str, Path]) -> Candidate:
    """Return an extension that registers the tools of a file; ``tool_files`` has used names."""
    # lazy: few users have tool-only files
    from pi.coding.extension_host.loading.modules import tool_file_extension

    return tool_file_extension(candidate, tool_files)


def _imports_pi(path: Path) -> bool:
    """Whether a file imports ``pi``: other scripts in such a folder must not be imported."""
    try:
        return re.search(r"(?m)^(?:from|import) pi\b", read_text(path)) is not None
    except PiError:
        return False


def _paths_in(entries: Iterable[str]) -> list[str]:
    """Return the entries of the setting ``extensions`` that are paths."""
    return [entry for entry in entries if finding.BUILT_IN not in entry[: len("+builtin:")]]


def _strings_in(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
