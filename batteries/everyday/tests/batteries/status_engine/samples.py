"""Sample states for tests of the status engine."""

from __future__ import annotations

from pi.batteries.status_engine.items import ContextWindow, GitState, StatusEngineState

GIT = GitState(branch="feature/awesome-status-lines", added=12, removed=4)
FULL = StatusEngineState(
    session_id="0198c0de",
    transcript_path="/home/ada/.pi/agent/sessions/one.jsonl",
    cwd="/home/ada/project",
    model="gpt-5",
    model_name="GPT-5",
    effort="medium",
    sandbox="workspace-write",
    approval="on-request",
    git=GIT,
    since_session_ms=12_345,
    cost_usd=0.25,
    context=ContextWindow(size=200_000, used_percent=12.34),
)
"""Everything is known."""
