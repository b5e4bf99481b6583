"""Texts of the package commands: lists and update results. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pi.base.terminal_text import one_line
from pi.coding.packages.contents import NODE_SUFFIXES
from pi.coding.packages.discovery import CODE, Configured, Package
from pi.coding.packages.entries import Kind
from pi.coding.packages.source import LocalSource, without_password
from pi.coding.packages.staging import Arrival, Outcome
from pi.coding.resources.sources import Scope

TITLES: dict[Scope, str] = {"user": "User packages:", "project": "Project packages:"}
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHOWN_COMMIT = 12


def list_lines(configured: Sequence[Configured]) -> Iterator[str]:
    """Yield the output of ``pi list``."""
    if not configured:
        yield "No packages installed."
    for scope, title in TITLES.items():
        packages = [package for package in configured if package.scope == scope]
        if packages:
            yield title
        for package in packages:
            changed = (
                package.delta is not None or package.entry.filters or not package.entry.autoload
            )
            missing = "" if package.installed else " (not installed)"
            if isinstance(package.source, LocalSource):
                yield f"  {source_name(package)}" + (" (filtered)" if changed else "") + missing
            else:
                yield f"  {source_name(package)}" + (" (filtered)" if changed else "")
                yield f"    {one_line(str(package.root))}{missing}"


def config_lines(packages: Iterable[Package]) -> Iterator[str]:
    """Yield the output of ``pi config``: every resource, and whether it is used."""
    for package in packages:
        yield f"{source_name(package.configured)} ({package.configured.scope})"
        offered = package.resources
        for kind, name in offered:
            mark = "x" if name in package.chosen.get(kind, ()) else " "
            yield f"  [{mark}] {kind:10} {one_line(name)}{resource_note(kind, name)}"
        if not offered:
            yield "  (nothing that pi uses)"


def resource_note(kind: Kind, name: str) -> str:
    """Return a note about a resource that cannot be used here."""
    return " (needs the original)" if kind in CODE and name.endswith(NODE_SUFFIXES) else ""


def update_line(configured: Configured, outcome: Outcome) -> str:
    """Return the result of an update as text."""
    name, before, after = source_name(configured), _version(outcome.before), _version(outcome.after)
    match outcome.change:
        case "fetched" if before:
            return f"Updated {name}: {before} → {after}"
        case "fetched":
            return f"Installed {name}: {after}"
        case "current":
            return f"{name} is up to date: {after}"
        case "pinned":
            return f"Skipped {name}: pinned at {after}"
        case "kept":
            return f"Kept {name}: {after} is newer than what can be had"
        case "in place":
            return f"{name} is used where it is"


def arrival_lines(arrivals: Iterable[Arrival]) -> Iterator[str]:
    """Yield the distributions that an installation adds or changes."""
    for arrival in arrivals:
        before, after = _version(arrival.before), _version(arrival.version)
        if before != after:
            yield (
                f"{one_line(arrival.name)} {before} → {after}"
                if before
                else (f"{one_line(arrival.name)} {after}")
            )


def source_name(configured: Configured) -> str:
    """Return the source without password, safe for a terminal.

    A folder is shown as an absolute path; in the settings it is relative to the settings file.
    """
    if isinstance(configured.source, LocalSource):
        return one_line(str(configured.root))
    return without_password(configured.entry.source)


def _version(text: str) -> str:
    return text[:_SHOWN_COMMIT] if _COMMIT.fullmatch(text) else one_line(text)
