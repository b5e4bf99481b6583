"""How this pi is updated: with whatever installed it, from wheels only. Pure."""

from __future__ import annotations

from pathlib import Path

NAME = "pi-harness"


def update_command(module: Path, *, prefix: Path, executable: Path) -> str:
    """The command that updates the pi whose file is ``module``.

    ``prefix`` and ``executable`` are those of the Python that runs it.
    """
    if not any(part in ("site-packages", "dist-packages") for part in module.parts):
        return f"git -C {module.parent} pull"  # it runs from a checkout
    parts = prefix.parts
    if "uv" in parts and "tools" in parts:
        return f"uv tool upgrade --no-build {NAME}"
    if "pipx" in parts:
        return f"pipx upgrade --pip-args='--only-binary=:all:' {NAME}"
    return f"{executable} -m pip install --only-binary :all: --upgrade {NAME}"
