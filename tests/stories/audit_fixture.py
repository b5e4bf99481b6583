"""Runs pi under audit, with a local model and a hostile project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.stories.hostile import hostile_project, is_below
from tests.stories.loopback_model import LoopbackModel

AUDITED = Path(__file__).with_name("audited.py")


@dataclass
class Outcome:
    """The output and the recorded events of one run."""

    stdout: str
    stderr: str
    opened: set[str] = field(default_factory=set)
    """Files of the project, relative to its root."""
    listed: set[str] = field(default_factory=set)
    """Folders of the project, relative to its root."""
    started: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)


class AuditFixture:
    """A user, a local model, and a hostile project.

    ``empty``: the folder of the project exists, but it contains no files.
    """

    def __init__(self, tmp_path: Path, model: LoopbackModel, *, empty: bool = False) -> None:
        self.model = model
        self.project = hostile_project(tmp_path / "downloads")
        if empty:
            self.project.leave()
        self.home, self.log = tmp_path / "home", tmp_path / "log"
        self.agent_dir = self.home / ".pi/agent"
        self.agent_dir.mkdir(parents=True)
        provider = {
            "baseUrl": model.url,
            "apiKey": "k",
            "api": "openai-completions",
            "models": [{"id": "m"}],
        }
        (self.agent_dir / "settings.json").write_text("{}")  # a new home is asked for its setup
        (self.agent_dir / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))

    @property
    def environ(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        git = {"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere"}
        return {**keep, **git, "HOME": str(self.home), "PI_SKIP_VERSION_CHECK": "1"}

    def command(self, mode: str, prompt: str, *, approve: bool) -> list[str]:
        """Return the command that runs pi under audit in a mode."""
        audited = [sys.executable, str(AUDITED), str(self.log)]
        if mode == "sdk":
            return [*audited, "sdk-trusted" if approve else "sdk", prompt]
        words = ["--model", "mine/m", *(["--approve"] if approve else [])]
        match mode:
            case "print":
                return [*audited, "cli", "-p", *words, prompt]
            case "json":
                return [*audited, "cli", "--mode", "json", *words, prompt]
        return [*audited, "cli", "--mode", "rpc", *words]

    def open(self, mode: str, *, approve: bool = False, prompt: str = "/evil") -> Outcome:
        """Send a prompt in the project. Returns the outcome."""
        command = self.command(mode, prompt, approve=approve)
        stdout, stderr = self.run(command, rpc_prompt=prompt if mode == "rpc" else None)
        return self.audited(stdout, stderr)

    def audited(self, stdout: str = "", stderr: str = "") -> Outcome:
        """Return the events of the last run that concern the project."""
        outcome = Outcome(stdout=stdout, stderr=stderr)
        root = self.project.root
        for kind, what in map(json.loads, self.log.read_text().splitlines()):
            if kind == "start":
                outcome.started.append(what)
            elif is_below(what, root):
                name = str(Path(what).resolve().relative_to(root.resolve()))
                if kind == "import":
                    outcome.imported.append(name)
                elif kind == "list":
                    outcome.listed.add(name)
                elif not Path(what).is_dir():
                    outcome.opened.add(name)
        return outcome

    def run(self, command: list[str], *, rpc_prompt: str | None = None) -> tuple[str, str]:
        """Run a program in the project, with ``rpc_prompt`` over RPC. Returns its output."""
        child = subprocess.Popen(
            command,
            cwd=self.project.cwd,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with child:
            assert child.stdin is not None
            assert child.stdout is not None
            output = ""
            if rpc_prompt is not None:
                for request in (
                    {"type": "get_commands"},
                    {"type": "prompt", "message": rpc_prompt},
                ):
                    child.stdin.write(json.dumps(request) + "\n")
                child.stdin.flush()
                while (line := child.stdout.readline()) and '"agent_settled"' not in line:
                    output += line
            stdout, stderr = child.communicate(timeout=60)
        assert child.returncode == 0, stderr
        return output + stdout, stderr

    @property
    def loot(self) -> list[str]:
        """Names of hostile code that was executed."""
        return sorted(path.name for path in self.project.loot.iterdir())
