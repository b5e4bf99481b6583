"""Files of the agent directory are accessible only to their owner, with any umask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files import mode_of, put
from tests.stories.loopback_model import LoopbackModel, loopback_model

TRUSTING = """
def extension(pi):
    @pi.on("project_trust")
    def answer(event, ctx):
        return {"trusted": "yes", "remember": True}
"""


def keep_things(home: Path, cwd: Path, model: LoopbackModel) -> None:
    """Run pi with an open umask so that it stores a session, trust and an index."""
    agent_dir = home / ".pi/agent"
    provider = {
        "baseUrl": model.url,
        "apiKey": "k",
        "api": "openai-completions",
        "models": [{"id": "m"}],
    }
    put(agent_dir / "models.json", json.dumps({"providers": {"mine": provider}}))
    put(agent_dir / "extensions/trusting.py", TRUSTING)
    put(cwd / "AGENTS.md", "Be brief.")
    for written in (agent_dir, *agent_dir.rglob("*")):
        written.chmod(0o700 if written.is_dir() else 0o600)
    child = subprocess.Popen(
        [sys.executable, "-m", "pi", "--mode", "rpc", "--model", "mine/m"],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PI_SKIP_VERSION_CHECK": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=0,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps({"type": "prompt", "message": "hello"}) + "\n")
        child.stdin.flush()
        while (line := child.stdout.readline()) and '"agent_settled"' not in line:
            pass
        _, stderr = child.communicate(timeout=60)
    assert child.returncode == 0, stderr


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_with_an_open_umask_every_file_of_the_agent_directory_is_private(tmp_path: Path) -> None:
    cwd = tmp_path / "work"
    with loopback_model() as model:
        keep_things(tmp_path / "home", cwd, model)
    agent_dir = tmp_path / "home/.pi/agent"
    kept = set(agent_dir.rglob("*"))

    names = {path.name for path in kept}
    assert {"trust.json", "extension-index.json", "__pycache__"} <= names
    assert any(name.endswith(".jsonl") for name in names)
    wrong = {str(path): oct(mode_of(path)) for path in kept if mode_of(path) & 0o077}
    assert wrong == {}
