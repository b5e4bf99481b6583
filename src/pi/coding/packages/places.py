"""Where packages are kept: one folder for each kind of source, below each settings file."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

from pi.base.records import Record
from pi.coding.packages.source import GitSource, LocalSource, NpmSource, PypiSource, Source
from pi.coding.resources.source import Scope

NEEDS = ".pi-needs"


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

    def needs(self, source: GitSource | LocalSource) -> Path:
        """Where that which a package in a folder needs of the Python index is, or would be."""
        if isinstance(source, GitSource):
            return self.target(source) / NEEDS  # so that both change together
        number = crc32(source.identity.encode("utf-8", "surrogateescape"))
        # Cut, so that the number fits into the longest name that a file system allows.
        return self.base / NEEDS / f"{source.path.name[:50]}-{number:08x}"

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
