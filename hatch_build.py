"""The checkout as one project: what all packages need and offer, from their project files."""

import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Members(MetadataHookInterface):
    """Dependencies, extras, commands and entry points of ``packages/*`` and ``batteries/*``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Collect the metadata of all members."""
        root = Path(self.root)
        files = sorted(
            [*root.glob("packages/*/pyproject.toml"), *root.glob("batteries/*/pyproject.toml")]
        )
        projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
        own = {project["name"] for project in projects}

        def foreign(requirements: list[str]) -> set[str]:
            return {
                line
                for line in requirements
                if line.partition("==")[0].partition("[")[0] not in own
            }

        needed: set[str] = set()
        extras: dict[str, set[str]] = {}
        scripts: dict[str, str] = {}
        points: dict[str, dict[str, str]] = {}
        for project in projects:
            needed |= foreign(project["dependencies"])
            for name, values in project.get("optional-dependencies", {}).items():
                extras.setdefault(name, set()).update(foreign(values))
            scripts |= project.get("scripts", {})
            for group, values in project.get("entry-points", {}).items():
                points.setdefault(group, {}).update(values)
        extras["all"] = set().union(*(values for name, values in extras.items() if name != "ray"))
        # `pi install` reads this: all of them count as installed.
        points["pi.distributions"] = dict.fromkeys(sorted(own - {metadata["name"]}), "pi.version")
        metadata["version"] = projects[0]["version"]
        metadata["dependencies"] = sorted(needed)
        metadata["optional-dependencies"] = {name: sorted(extras[name]) for name in sorted(extras)}
        metadata["scripts"] = scripts
        metadata["entry-points"] = points


class Documents(BuildHookInterface):
    """Help and the prompt name these pages, and /changelog shows the last."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages to a wheel; an editable install reads them where they are."""
        if version != "editable":
            build_data["force_include"]["docs"] = "pi/docs"
            build_data["force_include"]["CHANGELOG.md"] = "pi/docs/CHANGELOG.md"
