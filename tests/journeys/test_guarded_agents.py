"""Rules about files also hold for sub-agents, whose working folder may be a copy of the project."""

from __future__ import annotations

import subprocess

import pytest

from tests.journeys.model_server import Answer
from tests.journeys.program import Journey

SECRET = "TOP-SECRET-4711"


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("has_repository", [False, True])
def test_a_sub_agent_reads_no_denied_file(
    journey: Journey, isolated: bool, has_repository: bool
) -> None:
    folder = journey.home.cwd
    (folder / ".env").write_text(f"KEY={SECRET}\n")
    (folder / "open.txt").write_text("free\n")
    if has_repository:
        for command in (["init", "-q"], ["add", "open.txt", ".env"]):
            subprocess.run(["git", *command], cwd=folder, check=True)
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, "commit", "-qm", "x"], cwd=folder, check=True)
    journey.home.use_settings(
        permissions={"mode": "auto-edit", "deny": ["Read(.env)"], "allow": ["Bash", "task"]},
        task={"enabled": True, "isolation": {"enabled": True}},
    )
    task = {"agent": "task", "name": "spy", "task": "LOOK-AROUND", "isolated": isolated}
    attempts: tuple[tuple[str, dict[str, str]], ...] = (
        ("read", {"path": ".env"}),
        ("read", {"path": f"{folder}/.env"}),
        ("read", {"path": "./x/../.ENV"}),
        ("bash", {"command": "cat .env"}),
        ("bash", {"command": f"cat {folder}/.env"}),
        ("read", {"path": "open.txt"}),
        ("write", {"path": "../escaped.txt", "content": "x"}),
    )
    copies = f"{journey.home.agent_dir}/working-copies"
    attempts = (
        *attempts,
        ("bash", {"command": f"cat {copies}/*/files/.env"}),
        ("bash", {"command": f"rg -uu 4711 {copies}"}),
        ("bash", {"command": f"cd {copies}/spy-*/files && cat .env"}),
        ("bash", {"command": "cat $PWD/.env"}),
        ("write", {"path": "made.txt", "content": "made"}),
    )
    journey.model.script(
        Answer(calls=(("task", task),)),
        Answer(calls=attempts),
        Answer(calls=(("yield", {"data": "done"}),)),
    )

    journey.pi("--tools", "read,bash,write,task", "-p", "go")

    requests = [request for request in journey.model.requests if "LOOK-AROUND" in str(request)]
    assert any("free" in str(request) for request in requests), "the agent ran"
    assert not any(SECRET in str(request) for request in journey.model.requests)
    assert not list(journey.folder.rglob("escaped.txt"))
    made = list(journey.folder.rglob("made.txt"))
    assert [path.read_text() for path in made] == ["made"]
