"""Runs in the environment of Harbor: its unchanged runner, converters and validator.

Reads a job per line from standard input and writes a report per line. The jobs share a process, as
its imports take longer than a run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from harbor.agents.installed import acp_runner
from harbor.agents.installed.acp import AcpAgent
from harbor.agents.installed.pi import Pi
from harbor.models.agent.context import AgentContext
from harbor.utils.trajectory_validator import TrajectoryValidator

ENVIRONMENT = dict(os.environ)
ENTRY: dict[str, Any] = {
    "id": "pi",
    "name": "pi",
    "version": "0",
    "description": "pi",
    "distribution": {"local": {"cmd": "pi", "args": ["acp"]}},
}


def converted(agent: Any, logs: Path) -> dict[str, Any]:
    """What a converter makes of the logs of a run."""
    context = AgentContext()
    agent.populate_context_post_run(context)
    path = logs / "trajectory.json"
    return {
        "context": json.loads(context.model_dump_json()),
        "trajectory": json.loads(path.read_text()) if path.exists() else None,
    }


def run_acp(job: dict[str, Any]) -> dict[str, Any]:
    """Run an agent with the runner for ACP."""
    logs = Path(job["logs"])
    os.environ.clear()
    os.environ.update(ENVIRONMENT | job["env"])
    os.chdir(job["workspace"])
    options = {"instruction": job["instruction"], "logs-dir": logs, "launcher": job["launcher"]}
    arguments = [f"--{name}={value}" for name, value in options.items()]
    code = asyncio.run(acp_runner.run(arguments))
    agent = AcpAgent(logs_dir=logs, registry_entry=ENTRY, model_name="mock/mock-r")
    agent._last_instruction = job["instruction"]
    summary = json.loads((logs / "acp-summary.json").read_text())
    return {"code": code, "error": summary.get("error"), **converted(agent, logs)}


def convert_sessions(job: dict[str, Any]) -> dict[str, Any]:
    """Convert the session file of a run in JSON mode with the adapter for pi."""
    logs = Path(job["logs"])
    return converted(Pi(logs_dir=logs, model_name="mock/mock-r"), logs)


def validate(job: dict[str, Any]) -> dict[str, Any]:
    """The errors of a trajectory."""
    validator = TrajectoryValidator()
    validator.validate(Path(job["path"]), validate_images=True)
    return {"errors": validator.get_errors()}


JOBS = {"acp": run_acp, "pi": convert_sessions, "validate": validate}


def main() -> None:
    """Serve jobs until the input ends."""
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the runner prints what the agent says
    for line in sys.stdin:
        job = json.loads(line)
        try:
            report = JOBS[job["kind"]](job)
        except Exception as error:  # the test shows it
            report = {"failure": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(report) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
