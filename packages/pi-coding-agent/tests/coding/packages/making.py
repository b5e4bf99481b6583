"""Packages, repositories, programs and wheels that the tests of this folder make for themselves."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.coding.packages.store import PackageStore

SKILL = "---\nname: {name}\ndescription: How to {name}.\n---\n\nDo it.\n"


async def interrupted(
    store: PackageStore, source: str, cwd: Path, hangs: Callable[[], object]
) -> None:
    """Start an installation, wait for ``hangs`` to return, and cancel it."""
    async with asyncio.timeout(60):
        task = asyncio.create_task(store.install(source, cwd))
        await asyncio.to_thread(hangs)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def make_package(root: Path, *names: str, manifest: object = None) -> Path:
    """Make a folder with these files (names separated by spaces); skills are valid skill files."""
    for name in " ".join(names).split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        named = path.parent.name if path.name == "SKILL.md" else path.stem
        path.write_text(SKILL.format(name=named) if path.suffix == ".md" else "{}\n")
    root.mkdir(parents=True, exist_ok=True)
    if manifest is not None:
        (root / "package.json").write_text(json.dumps({"name": root.name, "pi": manifest}))
    return root


class Repository:
    """A git repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    @property
    def source(self) -> str:
        """The source for ``pi install``."""
        return f"git:file://{self.folder}"

    def commit(self, *names: str, manifest: object = None) -> str:
        """Add files in one commit; returns the commit."""
        make_package(self.folder, *names, manifest=manifest)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", " ".join(names) or "empty")
        return self.git("rev-parse", "HEAD")

    def git(self, *arguments: str) -> str:
        """The output of git."""
        who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


NPM = """\
import json, os, pathlib, shutil, sys, time
here = pathlib.Path(__file__).parent
command, words = sys.argv[1], sys.argv[2:]
with (here / "log.jsonl").open("a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
if (here / "broken").exists():
    sys.stderr.write((here / "broken").read_text())
    sys.exit(1)
if (here / f"hangs-at-{command}").exists():
    (here / f"hangs-at-{command}").write_text("x")
    time.sleep(600)
spec = words[words.index("--") + 1]
name, _, version = spec[1:].partition("@")
name = spec[0] + name
versions = [path.name for path in sorted((here / "registry" / name).iterdir())]
version = versions[-1] if version in ("", "latest") else version
if command == "view":
    print(json.dumps(version))
    sys.exit()
prefix = pathlib.Path(words[words.index("--prefix") + 1])
target = prefix / "node_modules" / name
shutil.rmtree(target, ignore_errors=True)
lock = json.loads((prefix / "package.json").read_text())
lock.setdefault("dependencies", {}).pop(name, None)
if command == "install":
    lock["dependencies"][name] = "^" + version
    shutil.copytree(here / "registry" / name / version, target)
    if (target / "lock.json").exists():
        (target / "lock.json").rename(prefix / "node_modules" / ".package-lock.json")
(prefix / "package.json").write_text(json.dumps(lock))
(here / "done").write_text("x")
"""


class FakeNpm:
    """A fake of npm with its registry in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.program = folder / "npm"
        script = folder / "npm.py"
        script.write_text(NPM)
        # Not in the first line of the script: a folder with a space would be cut there.
        self.program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{script}' \"$@\"\n")
        self.program.chmod(0o755)

    def publish(self, name: str, version: str, *names: str, manifest: object = None) -> None:
        """Put a version into the registry."""
        folder = make_package(self.folder / "registry" / name / version, *names)
        text = {"name": name, "version": version} | ({"pi": manifest} if manifest else {})
        (folder / "package.json").write_text(json.dumps(text))

    def publish_lock(self, name: str, version: str, packages: object) -> None:
        """Set the packages that npm writes to its lock file when it installs a version."""
        lock = self.folder / "registry" / name / version / "lock.json"
        lock.write_text(json.dumps({"packages": packages}))

    def withdraw(self, name: str, version: str) -> None:
        """Remove a version from the registry."""
        shutil.rmtree(self.folder / "registry" / name / version)

    def break_down(self, message: str) -> None:
        """Make npm fail from now on."""
        (self.folder / "broken").write_text(message)

    def hang(self, command: str) -> Path:
        """Make npm hang at a command; returns a pipe that can be read once it hangs."""
        signal = self.folder / f"hangs-at-{command}"
        os.mkfifo(signal)
        return signal

    def calls(self) -> list[tuple[list[str], dict[str, str]]]:
        """The words and the environment of every call."""
        path = self.folder / "log.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [tuple(json.loads(line)) for line in lines]


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *names: str,
    requires: tuple[str, ...] = (),
    entry_points: str = "",
) -> Path:
    """A wheel of a distribution with these files."""
    module = name.replace("-", "_")
    metadata = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    files = {file: SKILL.format(name=Path(file).stem) for file in " ".join(names).split()} | {
        f"{module}/__init__.py": f"VERSION = {version!r}\n",
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_points:
        files[f"{metadata}/entry_points.txt"] = entry_points
    files[f"{metadata}/RECORD"] = "".join(f"{file},,\n" for file in files)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return path


def snapshot(folder: Path) -> dict[str, str]:
    """Every file and link below a folder; for comparing before and after."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes().decode("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
