"""Packages, repositories, programs and wheels that the tests of this folder make for themselves."""

from __future__ import annotations

import json
from pathlib import Path

SKILL = "---\nname: {name}\ndescription: How to {name}.\n---\n\nDo it.\n"


def make_package(root: Path, *names: str, manifest: object = None) -> Path:
    """A folder with these files (names part by spaces); skills are whole, the rest is not empty."""
    for name in " ".join(names).split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        named = path.parent.name if path.name == "SKILL.md" else path.stem
        path.write_text(SKILL.format(name=named) if path.suffix == ".md" else "{}\n")
    root.mkdir(parents=True, exist_ok=True)
    if manifest is not None:
        (root / "package.json").write_text(json.dumps({"name": root.name, "pi": manifest}))
    return root
