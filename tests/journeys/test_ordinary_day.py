"""A recorded day of calls in ``auto-edit``: the user is asked about what leaves the project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from scripts.workspace import ROOT, find_test
from tests.journeys.model_server import calls
from tests.journeys.program import Journey

DAY = [
    json.loads(line)
    for line in find_test(ROOT, "batteries/permissions/ordinary_day.jsonl")
    .read_text("utf-8")
    .splitlines()
]
FILES = (
    *("src/app.py", "src/util.py", "src/tools.py", "src/data.bin", "tests/test_new.py"),
    *("notes.txt", "data.csv", "package.json", "README.md"),
)
PROGRAMS = (
    *("npx", "npm", "pnpm", "yarn", "node", "cargo", "go", "gem", "docker", "gh", "dpkg", "apt"),
    *("apt-cache", "pip", "poetry", "uv", "tox", "coverage", "mypy", "ruff"),
)
"""Stand-ins: these would download something, or are not installed everywhere."""


@pytest.mark.full
def test_a_day_asks_only_about_what_leaves_the_project(journey: Journey) -> None:
    bwrap = shutil.which("bwrap")
    if not bwrap or subprocess.run([bwrap, "--ro-bind", "/", "/", "true"], check=False).returncode:
        pytest.skip("tests of a project are asked about without a sandbox")
    for name in FILES:
        journey.home.write_work(name, "x\n")
    folder = journey.folder / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    journey.environ["PATH"] = f"{folder}{os.pathsep}{journey.environ['PATH']}"
    for kind in ("AUTHOR", "COMMITTER"):
        journey.environ[f"GIT_{kind}_NAME"] = journey.environ[f"GIT_{kind}_EMAIL"] = "ada"
    for arguments in (["init", "-q", "--template="], ["add", "-A"], ["commit", "-qm", "Begin"]):
        command = ["git", *arguments]
        subprocess.run(command, cwd=journey.home.cwd, env=journey.environ, check=True)
    journey.home.use_settings(
        permissions={"mode": "auto-edit"}, compaction={"enabled": False}, sandbox={"enabled": False}
    )
    journey.model.script(*(calls(call["tool"], **call["input"]) for call in DAY))
    with journey.rpc() as client:
        client.answers["select"] = {"value": "Deny"}
        client.prompts("work")

    asked = [request["title"] for request in client.events("extension_ui_request")]
    outside = [call["input"]["command"] for call in DAY if call["asks"] == "outside"]
    assert journey.model.unused == 0
    assert [title.rpartition("\n\n")[2] for title in asked if "Allow" in title] == outside
