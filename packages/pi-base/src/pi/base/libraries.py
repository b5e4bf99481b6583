"""The libraries of extras: required and missing ones, and the folder for further ones."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pi.base.files import agent_directory

DISTRIBUTION = "pi-harness"

CORE = "pi-harness-core"

BATTERIES = "pi.extensions"

GROUP = "pi.distributions"
"""The entry points that name the distributions in a checkout, which is installed as one.

A distribution without batteries has one, too, so that its extras are found.
"""

_OWN = r"pi-[\w-]+"
"""The name of a distribution of pi."""

_REQUIREMENT = (
    r"(?P<requirement>(?P<name>[\w.-]+)[^;]*?)\s*;\s*extra\s*==\s*['\"](?P<extra>[\w.-]+)"
)


def library_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder in the agent directory for libraries of this Python on this machine."""
    tag = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    machine = os.uname().machine if hasattr(os, "uname") else environ.get("PROCESSOR_ARCHITECTURE")
    return agent_directory(environ) / "libraries" / f"{tag}-{sys.platform}-{machine}"


def use_library_folder(environ: Mapping[str, str]) -> None:
    """Make the libraries in the agent directory importable, after all others."""
    folder = str(library_folder(environ))
    if folder not in sys.path and os.path.isdir(folder):  # noqa: PTH112 - at every start
        sys.path.append(folder)


def requirements_of(*extras: str) -> tuple[str, ...]:
    """Return what extras of pi require, as its metadata says; empty without metadata."""
    return tuple(row["requirement"].strip() for row in _rows(extras))


def missing_requirements(*extras: str) -> tuple[str, ...]:
    """Return the requirements of extras that are not installed. Versions are not compared."""
    rows = _rows(extras)
    return tuple(row["requirement"].strip() for row in rows if not is_installed(row["name"]))


def requirements_for_module(module: str) -> tuple[str, ...]:
    """Return the requirement of pi's extras that has a module, unless it is installed."""
    name = module.partition(".")[0].replace("_", "-").lower()
    rows = (re.match(_REQUIREMENT, line) for line in _required_lines())
    required = [row["requirement"].strip() for row in rows if row and row["name"] == name]
    return () if not required or is_installed(name) else (required[0],)


def still_missing(requirements: Sequence[str]) -> tuple[str, ...]:
    """Return those that have not been installed meanwhile."""
    return tuple(text for text in requirements if not is_installed(_name_of(text)))


def _name_of(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    return match[0] if match else ""


def is_installed(name: str) -> bool:
    """Whether a distribution is installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def installed_size(name: str) -> int:
    """Return the bytes of an installed distribution; 0 if its files are not known."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return 0
    return sum(file.size or 0 for file in files)


def _rows(extras: Sequence[str]) -> list[re.Match[str]]:
    rows = [row for line in _required_lines() if (row := re.match(_REQUIREMENT, line))]
    by_name = {row["name"]: row for row in rows if row["extra"] in extras}
    return list(by_name.values())


@cache  # each row of /extensions asks, and reading the metadata takes 20 ms
def _required_lines() -> list[str]:
    """Return the requirements of pi from its metadata, or from the checkout."""
    # Lazy: 20 ms, and most runs lack nothing.
    from importlib.metadata import PackageNotFoundError, entry_points, requires

    # pi consists of several distributions, and each extra belongs to one or more of them. Without
    # the one that needs all others, they are those of the core and of the batteries.
    points = [*entry_points(group=BATTERIES), *entry_points(group=GROUP)]
    names = [DISTRIBUTION, CORE, *(point.dist.name for point in points if point.dist)]
    lines: dict[str, list[str]] = {}
    while names:
        name = names.pop(0)
        if name in lines or not re.fullmatch(_OWN, name):
            continue
        try:
            lines[name] = requires(name) or []
        except PackageNotFoundError:
            continue
        names += [part[0] for line in lines[name] if (part := re.match(_OWN, line))]
    needed = [line for part in lines.values() for line in part if not re.match(_OWN, line)]
    return needed or _lines_of_projects()  # the folders may be on PYTHONPATH, and not installed


def _lines_of_projects() -> list[str]:
    """Return the requirements of the extras of a checkout."""
    import tomllib

    above = Path(__file__).parents
    checkout = next((folder for folder in above if (folder / "constraints.txt").is_file()), None)
    if checkout is None:
        return []
    rows = []
    patterns = ("pyproject.toml", "packages/*/pyproject.toml", "batteries/*/pyproject.toml")
    for file in [file for pattern in patterns for file in checkout.glob(pattern)]:
        try:
            project = tomllib.loads(file.read_text("utf-8"))["project"]
        except (KeyError, OSError, ValueError):
            continue
        extras = project.get("optional-dependencies", {})
        rows += [f"{line}; extra == '{extra}'" for extra in extras for line in extras[extra]]
    return [row for row in rows if not re.match(_OWN, row)]


def bundled_metadata() -> dict[str, str]:
    """Return the metadata of the distributions that an installed checkout contains, by name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        checkout = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return {}
    text = checkout.read_text("METADATA") or ""
    names = [entry.name for entry in checkout.entry_points.select(group=GROUP)]
    return {name: re.sub(r"(?m)^Name: .*$", f"Name: {name}", text, count=1) for name in names}
