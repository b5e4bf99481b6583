from __future__ import annotations

import json
from typing import Any

from pi.batteries.status_engine.engine import payload
from pi.batteries.status_engine.items import ContextWindow, GitState, StatusEngineState
from pi.extension import replace
from tests.batteries.status_engine.samples import FULL


def fields(state: StatusEngineState) -> dict[str, Any]:
    line = payload(state, total_duration_ms=20_000, version="0.1.0")
    assert line.endswith(b"}\n") and line.count(b"\n") == 1
    decoded: dict[str, Any] = json.loads(line)
    return decoded


def test_the_payload_has_the_documented_fields_and_those_of_claude_code() -> None:
    assert fields(FULL) == {
        "hook_event_name": "Status",
        "session_id": "0198c0de",
        "transcript_path": "/home/ada/.pi/agent/sessions/one.jsonl",
        "cwd": "/home/ada/project",
        "version": "0.1.0",
        "model": {"id": "gpt-5", "display_name": "GPT-5"},
        "effort": "medium",
        "workspace": {
            "current_dir": "/home/ada/project",
            "project_dir": "/home/ada/project",
            "name": "project",
        },
        "sandbox": "workspace-write",
        "approval": "on-request",
        "output_style": {"name": "default"},
        "timing": {"since_session_ms": 12_345},
        "cost": {"total_cost_usd": 0.25, "total_duration_ms": 20_000},
        "git": {"branch": "feature/awesome-status-lines", "+": 12, "-": 4},
        "context_window": {
            "context_window_size": 200_000,
            "used_percentage": 12.3,
            "remaining_percentage": 87.7,
        },
    }


def test_unknown_fields_are_omitted() -> None:
    bare = StatusEngineState(session_id="x", cwd="/somewhere", model="gpt-5")

    assert fields(bare) == {
        "hook_event_name": "Status",
        "session_id": "x",
        "cwd": "/somewhere",
        "version": "0.1.0",
        "model": {"id": "gpt-5", "display_name": "gpt-5"},
        "workspace": {
            "current_dir": "/somewhere",
            "project_dir": "/somewhere",
            "name": "somewhere",
        },
        "output_style": {"name": "default"},
        "timing": {"since_session_ms": 0},
        "cost": {"total_cost_usd": 0.0, "total_duration_ms": 20_000},
    }


def test_the_branch_is_in_the_payload_before_its_lines_are_counted() -> None:
    assert fields(replace(FULL, git=GitState(branch="main")))["git"] == {"branch": "main"}


def test_the_usage_of_the_context_window_may_be_unknown() -> None:
    state = replace(FULL, context=ContextWindow(size=1000))

    assert fields(state)["context_window"] == {"context_window_size": 1000}


def test_a_lone_surrogate_in_a_path_is_replaced() -> None:
    assert fields(StatusEngineState(cwd="/a\udcff"))["cwd"] == "/a?"
