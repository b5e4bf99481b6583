"""The page of environment variables lists only variables that the code reads or sets."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.workspace import source_files

PAGE = "docs/reference/environment-variables.md"


def test_every_documented_environment_variable_is_in_the_code(root: Path) -> None:
    rows = [
        line for line in (root / PAGE).read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    named = {name for row in rows for name in re.findall(r"`([A-Z][A-Z_]+)`", row.split("|")[1])}
    code = "".join(path.read_text("utf-8") for path in source_files(root))

    assert len(named) > 40
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []


def test_every_cloud_environment_variable_is_documented(root: Path) -> None:
    """``pi auth check`` does not list them: they are regions, projects and deployments."""
    code = "".join(path.read_text("utf-8") for path in source_files(root, "ai/**/*.py"))
    read = set(re.findall(r"\"((?:AWS|AZURE|GOOGLE|GCP|GCLOUD|VERTEX)_[A-Z_]+)\"", code))
    secrets = {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_SECURITY_TOKEN"}  # only withheld
    page = (root / PAGE).read_text("utf-8")

    assert len(read) > 20
    assert [name for name in sorted(read - secrets) if f"`{name}`" not in page] == []
