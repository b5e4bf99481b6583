"""Why a package cannot be had.

PackageProblem
├── BadSource          what was typed names no package
├── NoMatchingPackage  the settings have no such package
├── InstallDeclined    the user did not want what it brings
└── InstallFailed      it could not be fetched; what was there before is still there
"""

from __future__ import annotations

from pi.base.errors import PiError


class PackageProblem(PiError):
    """Something about a package."""


class BadSource(PackageProblem):
    """A source that cannot be understood, or that would lead out of where packages are kept."""


class NoMatchingPackage(PackageProblem):
    """The settings name no such package."""

    def __init__(self, source: str) -> None:
        super().__init__(f"No matching package found for {source}")


class InstallDeclined(PackageProblem):
    """The user was asked and declined; nothing was changed."""


class InstallFailed(PackageProblem):
    """A package could not be fetched, replaced or removed."""
