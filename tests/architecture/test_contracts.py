from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_import_contracts_hold(root: Path) -> None:
    finished = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stdout
