"""Starts ``pi -p`` with batteries that wait for a trigger: ``triggers KIND PORT [ROUNDS]``.

``KIND`` is ``bundled`` (those of pi), a kind of trigger (20 batteries wait for one that does not
occur), or a kind with ``!`` (one battery, and its trigger occurs). Prints how many milliseconds of
CPU the start costs more than with no battery installed: the difference of the best of some rounds,
in turn, because a best round has the least noise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.workspace import ROOT, members

BATTERIES = 20
ROUNDS = 8

TRIGGERS = {
    "command": "command:{name}",
    "flag": "flag:{name}",
    "setting": "setting:{name}.enabled",
    "selected": "selected:{name}",
    "entry": "entry:{name}",
    "file": "file:.{name}.json",
    "env": "env:PI_BENCH_{name}",
    "shared": "shared:{name}",
    "view": "view:code:{name}",
    "mode": "mode:interactive",
    "event": "event:model_select",
    "tool": "tool:{name}",
    "scheme": "scheme:{name}",
    "shortcut": "shortcut:ctrl+shift+{number}",
    "prefix": "prefix:${number}",
    "session": "session",
}
"""The last ones need a stand-in in every session, or load the extension."""
MORE = {
    "view": 'views = {{ "code:{name}" = "{name}:draw" }}\n',
    "flag": "[flags.{name}]\n",
}
OCCURRING = {"flag", "setting", "file", "env", "mode", "session"}
CODE = "def extension(pi):\n    pi.on('agent_start', lambda event, ctx: None)\n"


def install(folder: Path, points: dict[str, str]) -> Path:
    """A folder to import from, with entry points of extensions."""
    metadata = folder / "bench_batteries-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-batteries\n")
    lines = "".join(f"{name} = {target}\n" for name, target in points.items())
    (metadata / "entry_points.txt").write_text(f"[pi.extensions]\n{lines}")
    return folder


def batteries(folder: Path, kind: str) -> dict[str, str]:
    """Write the batteries of a kind, and return their entry points."""
    points: dict[str, str] = {}
    if kind == "none":
        return points
    if kind == "bundled":
        for member in members(ROOT):
            text = (member / "pyproject.toml").read_text(encoding="utf-8")
            groups = tomllib.loads(text)["project"].get("entry-points", {})
            points |= groups.get("pi.extensions", {})
        return points
    for number in range(1 if kind.endswith("!") else BATTERIES):
        name = f"bench_{number}"
        trigger = TRIGGERS[kind.rstrip("!")].format(name=name, number=number % 10)
        if kind == "mode!":
            trigger = "mode:print"
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(CODE)
        more = MORE.get(kind.rstrip("!"), "").format(name=name)
        (package / "pi.toml").write_text(f'name = "{name}"\nactivate = ["{trigger}"]\n{more}')
        points[name] = f"{name}:extension"
    return points


class Start:
    """A home in which ``pi -p`` is started again and again."""

    def __init__(self, folder: Path, kind: str, port: str) -> None:
        self._kind = kind
        points = batteries(folder / "installed", kind)
        path = install(folder / "installed", points)
        self._home, self._cwd = folder / "home", folder / "work"
        agent_dir = self._home / ".pi" / "agent"
        agent_dir.mkdir(parents=True)
        self._cwd.mkdir()
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": "echo-1"}],
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
        self._index = agent_dir / "extension-index.json"
        self._targets = {*points.values()}
        on = {"bench_0": {"enabled": True}} if kind == "setting!" else {}
        (agent_dir / "settings.json").write_text(json.dumps(on))
        if kind == "file!":
            (self._cwd / ".bench_0.json").touch()
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "PYTHONPATH": str(path),
            "PI_OFFLINE": "1",
            "PI_NO_LOCAL": "1",
            **({"PI_BENCH_bench_0": "1"} if kind == "env!" else {}),
        }

    def __call__(self) -> float:
        """Return the CPU time of one start and one answer, in milliseconds."""
        words = ["--bench_0"] if self._kind == "flag!" else []
        command = [sys.executable, "-m", "pi", "-p", "--model", "mock/echo-1", "--no-session"]
        child = subprocess.Popen(
            [*command, *words, "hi"],
            cwd=self._cwd,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"pi ended with {child.returncode}")
        return (usage.ru_utime + usage.ru_stime) * 1e3

    def warm_up(self) -> None:
        """Fill the caches, and leave only the batteries of this kind in the index."""
        self()
        index = json.loads(self._index.read_bytes())
        index["entries"] = [each for each in index["entries"] if each["value"] in self._targets]
        assert len(index["entries"]) == len(self._targets)
        self._index.write_text(json.dumps(index))


def main(kind: str, port: str, rounds: int = ROUNDS) -> None:
    """Measure both in turn, after one round that fills the caches."""
    with TemporaryDirectory() as name:
        none, measured = (
            Start(Path(name) / folder, each, port)
            for folder, each in (("without", "none"), ("with", kind))
        )
        none.warm_up()
        measured.warm_up()
        times = [(none(), measured()) for _ in range(rounds)]
    print(min(each for _, each in times) - min(each for each, _ in times))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
