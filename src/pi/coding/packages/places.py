"""Where packages are kept: one folder for each kind of source, below each settings file."""

from __future__ import annotations

from pathlib import Path

from pi.base.records import Record
from pi.coding.packages.source import GitSource, LocalSource, NpmSource, PypiSource, Source
from pi.coding.resources.source import Scope


class Shelf(Record):
    """The agent directory, the ``.pi`` folder of a project, or a folder for one run."""

    scope: Scope
    base: Path
    """Where its settings file is, and where relative paths in it start."""

    def target(self, source: Source) -> Path:
        """Where a package is, or would be."""
        match source:
            case NpmSource(name=name):
                return self.npm.joinpath("node_modules", *name.split("/"))
            case GitSource(place=place):
                return self.git.joinpath(*place)
            case PypiSource(name=name):
                return self.pypi / name
            case LocalSource(path=path):
                return path

    @property
    def npm(self) -> Path:
        """One npm project for all packages of npm."""
        return self.base / "npm"

    @property
    def git(self) -> Path:
        """One checkout for each repository, by host and path."""
        return self.base / "git"

    @property
    def pypi(self) -> Path:
        """One folder for each distribution, with what it needs beside pi."""
        return self.base / "pypi"
