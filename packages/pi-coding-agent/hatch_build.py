"""Adds ``docs/`` and the changelog, which are at the root of the checkout, to the wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Documents(BuildHookInterface):
    """Help and the prompt name these pages, and /changelog shows the last."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files for a wheel; an editable install reads them where they are."""
        if version == "editable":
            return
        root = Path(self.root).parents[1]
        build_data["force_include"][str(root / "docs")] = "pi/docs"
        build_data["force_include"][str(root / "CHANGELOG.md")] = "pi/docs/CHANGELOG.md"
