"""A home with a project in it, for finders of resources."""

from __future__ import annotations

from pathlib import Path

from pi.coding.other_agents import AGENTS, AgentUse
from pi.coding.resources.kinds import Where


def make_search(tmp_path: Path, *, trusted: bool = True) -> Where:
    """Where to search; either everything or nothing is trusted."""
    cwd = tmp_path / "home" / "project"
    for folder in (cwd, tmp_path / "home" / "agent"):
        folder.mkdir(parents=True, exist_ok=True)
    return Where(
        cwd=cwd,
        home=tmp_path / "home",
        agent_dir=tmp_path / "home/agent",
        trusts=lambda _: trusted,
        use=AgentUse(accepted=frozenset(AGENTS)),
    )
