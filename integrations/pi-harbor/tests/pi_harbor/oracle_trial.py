"""Runs in the environment of Harbor: the adapter in an environment that is a shell.

Reads a job per line from standard input and writes a report per line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.agents.installed.acp import AcpAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext
from harbor.models.task.config import MCPServerConfig
from harbor.utils.trajectory_validator import TrajectoryValidator

import pi_harbor


class Shell(BaseEnvironment):
    """Executes commands with bash, in a folder."""

    default_user = None

    def __init__(self, folder: str, environ: dict[str, str], seconds: float) -> None:
        self.folder, self.environ, self.seconds = folder, environ, seconds

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", command),
            cwd=self.folder,
            env={**self.environ, **(env or {})},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await asyncio.wait_for(process.communicate(), self.seconds)
        return ExecResult(
            stdout=output.decode(), stderr=errors.decode(), return_code=process.returncode or 0
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        shutil.copy(source_path, target_path)


Shell.__abstractmethods__ = frozenset()


async def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a trial: set-up, the agent, its trajectory."""
    logs = Path(job["logs"])
    os.environ.update(job["host"])
    servers = [MCPServerConfig(**server) for server in job.get("mcp_servers", ())]
    agent = pi_harbor.Pi(
        logs_dir=logs,
        model_name=job["model"],
        environment_logs_dir=PurePosixPath(logs),
        mcp_servers=servers,
        load_trajectory=job.get("load"),
        **job.get("options", {}),
    )
    shell = Shell(job["folder"], job["environ"], job.get("seconds", 100))
    context, error = AgentContext(), None
    try:
        await agent.setup(shell)
        start = agent.load if job.get("load") else agent.resume if job.get("resume") else agent.run
        await start(job["instruction"], shell, context)
    except Exception as failure:
        error = [type(failure).__name__, str(failure)]
    agent.populate_context_post_run(context)
    path = logs / "trajectory.json"
    validator = TrajectoryValidator()
    if path.exists():
        validator.validate(path)
    return {
        "error": error,
        "version": agent.version(),
        "context": json.loads(context.model_dump_json()),
        "trajectory": json.loads(path.read_text()) if path.exists() else None,
        "invalid": validator.get_errors(),
    }


async def registry(job: dict[str, Any]) -> dict[str, Any]:
    """What Harbor reads from the registry record."""
    agent = AcpAgent(
        logs_dir=Path(job["logs"]), registry_entry_path=pi_harbor.REGISTRY_RECORD, model_name="a/b"
    )
    return {"identity": agent._agent_identity()}


JOBS = {"run": run, "registry": registry}


def main() -> None:
    """Serve jobs until the input ends."""
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            report = asyncio.run(JOBS[job["kind"]](job))
        except Exception as error:  # the test shows it
            report = {"failure": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(report) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
