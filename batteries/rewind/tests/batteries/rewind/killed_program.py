"""Restores a project and kills itself after some steps: ``killed_program FOLDER POINT STEPS``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.batteries.rewind.project_fixture import ProjectFixture


class Killing(ProjectFixture):
    """A project whose process ends without any cleaning up."""

    def _step(self, name: str) -> None:
        self.steps_left -= 1
        if self.steps_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace(self, *arguments: Any) -> None:
        """Replacing a file by one that was written beside it counts as a step."""
        self._step("replace")
        replace(*arguments)


replace = os.replace

if __name__ == "__main__":
    folder, point, steps = sys.argv[1:]
    project = Killing(Path(folder))
    project.history.capture("outside")
    project.steps_left = int(steps)
    os.replace = project.replace  # type: ignore[assignment]
    project.rewind(point)
