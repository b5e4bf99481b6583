"""What a package that is a folder needs of the Python index: for it alone, and only as wheels."""

from __future__ import annotations

from pathlib import Path

from pi.base.errors import PiError
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.manifest import read_toml, texts
from pi.coding.packages.programs import Programs
from pi.coding.packages.pypi import install_wheels, must_be_known, resolve


def declared_needs(root: Path) -> tuple[str, ...]:
    """The ``dependencies`` of ``[project]`` in its pyproject.toml."""
    if not root.is_dir():
        return ()
    try:
        project = (read_toml(root / "pyproject.toml") or {}).get("project")
    except PiError as problem:
        raise InstallFailed(problem.message) from problem
    needs = texts(project.get("dependencies")) if isinstance(project, dict) else ()
    for need in needs:
        if "@" in need.partition(";")[0]:
            raise InstallFailed(
                f"{root} needs {need}, which is no wheel of the index.",
                hint="Whatever has to be built would run code while it is installed.",
            )
    return needs


async def bring_needs(root: Path, target: Path, programs: Programs, work: Path) -> Path | None:
    """A folder with what the package in ``root`` needs and pi's own Python does not have.

    It takes the place of ``target``, of which it is checked that no wheel has changed; ``None`` if
    nothing is needed.
    """
    needs = declared_needs(root)
    wheels = await resolve(needs, programs, work) if needs else []
    if not wheels:
        return None
    must_be_known(wheels, target)
    return await install_wheels(wheels, work, programs)
