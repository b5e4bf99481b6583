"""What a package that is a folder needs of the Python index: for it alone, and only as wheels."""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.manifest import read_toml
from pi.coding.packages.programs import Programs
from pi.coding.packages.pypi import Wheel, must_be_known, resolve
from pi.coding.packages.requirements import must_be_named


def declared_needs(root: Path, package: str) -> tuple[str, ...]:
    """The ``dependencies`` of ``[project]`` in its pyproject.toml, all of them names."""
    if not root.is_dir():
        return ()
    try:
        project = (read_toml(root / "pyproject.toml") or {}).get("project")
    except PiError as problem:
        raise InstallFailed(problem.message) from problem
    needs = project.get("dependencies", []) if isinstance(project, dict) else []
    if not isinstance(needs, list):
        raise InstallFailed(f'The "dependencies" in pyproject.toml of {package} are not a list.')
    return tuple(must_be_named(need, package) for need in needs)


async def needed_wheels(
    root: Path, target: Path, programs: Programs, work: Path, *, package: str
) -> list[Wheel]:
    """What the package in ``root`` needs and pi's own Python does not have.

    It is to take the place of ``target``, of which it is checked that no wheel has changed.
    """
    needs = declared_needs(root, package)
    wheels = await resolve(needs, programs, work, package=package) if needs else []
    must_be_known(wheels, target)
    return wheels
