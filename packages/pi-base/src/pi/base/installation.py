"""How this pi was installed, and the commands that add optional libraries to it.

Every message about a missing library gets its command here: ``pip install`` by the name of pi works
neither in a checkout nor with pipx, uv or a Python that the system manages.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from pi.base.libraries import DISTRIBUTION, library_folder, missing_requirements, requirements_of
from pi.base.records import Record

Kind: TypeAlias = Literal["checkout", "venv", "pipx", "uv tool", "system"]
"""``system``: the Python of the machine or of a container, not an environment of its own."""


class Installation(Record):
    """Where pi and its libraries are installed."""

    kind: Kind
    python: Path
    """The interpreter that runs pi."""
    prefix: Path
    """Its environment."""
    source: Path
    """The folder of the package ``pi``."""
    keeps_libraries: bool = True
    """Whether libraries can be added to the environment, and stay there."""
    has_pip: bool = True
    libraries: Path = Path()
    """The folder in the agent directory for libraries that the environment does not keep."""
    pipx: str = ""
    """The path of the program; empty if it is not on PATH."""
    uv: str = ""

    @classmethod
    def current(cls, environ: Mapping[str, str] = os.environ) -> Installation:
        """Return the installation that runs this process."""
        # Lazy: few runs need to know.
        import sysconfig

        from pi.base.processes.environment import find_program

        source, prefix = Path(__file__).parents[1], Path(sys.prefix)
        packages = Path(sysconfig.get_path("purelib"))
        managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
        kind = _kind(source, prefix, is_venv=sys.prefix != sys.base_prefix)
        return cls(
            kind=kind,
            python=Path(sys.executable),
            prefix=prefix,
            source=source,
            # `uv tool upgrade` removes what it has not installed. The marker (PEP 668) speaks about
            # the Python of the system, not about environments that were made from it.
            keeps_libraries=os.access(packages, os.W_OK)
            and kind != "uv tool"
            and not (managed and kind == "system"),
            has_pip=find_spec("pip") is not None,
            libraries=library_folder(environ),
            pipx=find_program("pipx", environ) or "",
            uv=find_program("uv", environ) or "",
        )

    @property
    def pip_words(self) -> list[str]:
        """The arguments of pip before the requirements, for the place where libraries go."""
        if self.keeps_libraries:
            return ["install"]
        # --upgrade: pip does not replace a library in a target folder otherwise.
        return ["install", "--upgrade", "--target", str(self.libraries)]

    def command(self, requirements: Sequence[str]) -> str:
        """Return the command line that installs libraries into this installation."""

        pip = [str(self.python), "-m", "pip"]
        if self.kind == "pipx" and self.keeps_libraries and self.pipx:
            return _joined(["pipx", "inject", self.prefix.name, *requirements])
        if self.has_pip:
            return _joined([*pip, *self.pip_words, *requirements])
        if self.uv:
            target = [] if self.keeps_libraries else ["--target", str(self.libraries)]
            command = ["uv", "pip", "install", "--python", str(self.python), *target]
            return _joined([*command, *requirements])
        ensure = _joined([str(self.python), "-m", "ensurepip"])
        return f"{ensure} && {_joined([*pip, *self.pip_words, *requirements])}"

    def update_command(self) -> str:
        """Return the command that updates pi, with its own installer and wheels only."""

        match self.kind:
            case "checkout":
                return f"git -C {_quoted(str(self.source))} pull"
            case "uv tool":
                return f"uv tool upgrade --no-build {self.prefix.name}"
            case "pipx":
                return f"pipx upgrade --pip-args='--only-binary=:all:' {self.prefix.name}"
            case "venv" | "system":
                python = _quoted(str(self.python))
                return f"{python} -m pip install --only-binary :all: --upgrade {DISTRIBUTION}"


def _joined(arguments: Sequence[str]) -> str:
    return " ".join(map(_quoted, arguments))


def _quoted(word: str) -> str:
    """Quote a word for a shell. Not with ``shlex``, which a headless start does not load."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    return "'{}'".format(word.replace("'", "'\\''"))


def _kind(source: Path, prefix: Path, *, is_venv: bool) -> Kind:
    if not any(part in ("site-packages", "dist-packages") for part in source.parts):
        # `pip install --target` makes a folder of another name, with the metadata beside pi.
        return "system" if any(source.parent.glob("pi_harness-*.dist-info")) else "checkout"
    # Both leave a file in the environment; the folders above it can be moved with variables.
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool"
    if (prefix / "pipx_metadata.json").exists():
        return "pipx"
    return "venv" if is_venv else "system"


def install_command(requirements: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """Return the command that installs libraries into this installation; empty without any."""
    return Installation.current(environ).command(requirements) if requirements else ""


def extra_command(*extras: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the command that installs the missing libraries of extras into this installation."""
    return install_command(missing_requirements(*extras) or requirements_of(*extras), environ)


def install_hint(*extras: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the sentence for a message about a missing library: how to install it here."""
    return f"Install it: {extra_command(*extras, environ=environ)}"
