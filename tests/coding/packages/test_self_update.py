from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.listing import update_command

SITE = "lib/python3.11/site-packages/pi/__init__.py"


@pytest.mark.parametrize(
    ("prefix", "module", "command"),
    [
        (
            "/home/me/.local/share/uv/tools/pi-harness",
            SITE,
            "uv tool upgrade --no-build pi-harness",
        ),
        (
            "/home/me/.local/share/pipx/venvs/pi-harness",
            SITE,
            "pipx upgrade --pip-args='--only-binary=:all:' pi-harness",
        ),
        (
            "/venv",
            SITE,
            "/venv/bin/python -m pip install --only-binary :all: --upgrade pi-harness",
        ),
        ("/venv", "/code/src/pi/__init__.py", "git -C /code/src/pi pull"),
    ],
)
def test_the_update_command_fits_the_installer_of_pi(
    prefix: str, module: str, command: str
) -> None:
    found = update_command(
        Path(prefix, module), prefix=Path(prefix), executable=Path("/venv/bin/python")
    )

    assert found == command
