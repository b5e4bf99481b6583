"""The sources of ``/import`` and ``pi import``: packages that import histories of other agents.

A package adds a source with an entry point of the group ``pi.histories``: its name is that of the
agent, its value a function of the type ``ImportHistories``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import TypeAlias

from msgspec import field

from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.extension_host.discovery.entry_points import import_path

GROUP = "pi.histories"
DISTRIBUTION = "pi-harness-histories"
"""The distribution with the sources of pi."""


class HistoryFolders(Record):
    """The folders of transcripts and of sessions."""

    home: Path
    agent_dir: Path
    environ: Mapping[str, str]
    session_dir: Path | None = None


class ImportReport(Record):
    """The result of an import."""

    agent: str
    counts: dict[str, int] = field(default_factory=dict)
    """Number of sessions by outcome: ``new``, ``updated``, ``unchanged``, ``kept``, ``empty``."""
    lost: dict[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    sessions: tuple[Path, ...] = ()
    """The files of new and updated sessions."""
    other_folders: int = 0
    """Transcripts of other directories, which were not imported."""

    def describe(self) -> str:
        """Return the report for the user."""
        counts = self.counts
        lines = [
            f"Imported from {self.agent}: {counts.get('new', 0)} new,"
            f" {counts.get('updated', 0)} updated, {counts.get('unchanged', 0)} unchanged."
        ]
        if kept := counts.get("kept", 0):
            lines.append(f"{kept} continued in pi or changed since: not overwritten.")
        if empty := counts.get("empty", 0):
            lines.append(f"{empty} without messages: left out.")
        if self.other_folders:
            lines.append(f"{self.other_folders} of other folders: --all imports them too.")
        if self.lost:
            parts = (f"{count} {what}" for what, count in sorted(self.lost.items()))
            lines.append(f"Not carried over: {', '.join(parts)}.")
        lines += self.problems
        return "\n".join(lines)


ImportHistories: TypeAlias = Callable[[HistoryFolders, Path | None], ImportReport]
"""Imports the transcripts of a directory, or of all directories if it is ``None``.

A transcript that cannot be read is a problem in the report; the others are imported.
"""


def find_import_sources() -> dict[str, EntryPoint]:
    """Return the entry points of the installed sources, by the name of the agent."""
    points: dict[str, EntryPoint] = {}
    # Not the current folder: code of a project must not run because of its files.
    for installed in distributions(path=import_path()):
        for point in installed.entry_points.select(group=GROUP):
            points.setdefault(point.name, point)
    return dict(sorted(points.items()))


def import_histories(agent: str, folders: HistoryFolders, *, cwd: Path | None) -> ImportReport:
    """Import the transcripts of ``cwd``, or of all directories if it is ``None``.

    Raises ``PiError`` for an unknown agent.
    """
    sources = find_import_sources()
    if agent not in sources:
        raise PiError(f"Unknown agent {agent!r}.", hint=f"Use one of {', '.join(sources)}.")
    importer: ImportHistories = sources[agent].load()
    return importer(folders, cwd)
