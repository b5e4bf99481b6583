"""Runs in the environment of verifiers: rollouts with the harness and the subprocess runtime.

Reads a job from standard input and writes a report.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.acp import ACP_SOURCE
from verifiers.v1.agent import Agent
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.runtimes.subprocess import SubprocessConfig, SubprocessRuntime
from verifiers.v1.task import Task, TaskData
from verifiers.v1.types import Request, ToolMessage

import pi_verifiers


class Work(Task):
    """A task whose prompt is all there is."""


class Gated(Task):
    """Denies the commands that say so."""

    @vf.intercept
    def deny(self, request: Request) -> Request | None:
        """Answer a denied call in place of its tool."""
        last = request.messages[-1]
        if not isinstance(last, ToolMessage) or last.content:
            return None
        calls = [
            call for row in request.messages for call in getattr(row, "tool_calls", None) or ()
        ]
        call = next(call for call in calls if call.id == last.tool_call_id)
        if "denied" not in call.arguments:
            return None
        answer = last.model_copy(update={"content": "Not here."})
        return request.model_copy(update={"messages": [*request.messages[:-1], answer]})


def prepare_runner() -> None:
    """Let the runner of verifiers start without uv: its libraries are in this environment."""
    pi_verifiers.PiHarness.NEEDS_CONTAINER = False
    digest = hashlib.sha256(ACP_SOURCE.encode()).hexdigest()
    path = Path(SubprocessRuntime.scripts_dir) / f"{digest}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ACP_SOURCE)
    SubprocessRuntime._interpreters[str(path)] = sys.executable


async def rollout(job: dict[str, Any]) -> dict[str, Any]:
    """Run a rollout; returns what its trace has."""
    config = AgentConfig(
        harness={"id": "pi-verifiers", "command": job["command"], "env": job["env"]},
        model="mock-r",
        client=EvalClientConfig(base_url=job["url"], api_key_var="MODEL_KEY"),
        runtime=SubprocessConfig(),
        max_turns=job.get("max_turns"),
        network_notice=False,
    )
    kind = Gated if job.get("gated") else Work
    task = kind(TaskData(idx=0, prompt=job["prompts"][0], system_prompt=job.get("system")))
    receipts = []
    async with Agent(config) as agent:
        if len(job["prompts"]) == 1 and not job.get("steering"):
            trace = await agent.run(task)
        else:
            async with agent.interaction(task) as interaction:
                for prompt in (None, *job["prompts"][1:]):
                    turn = asyncio.create_task(
                        interaction.turn() if prompt is None else interaction.turn(prompt)
                    )
                    while job.get("steering") and not interaction.trace.nodes:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                    for number, message in enumerate(job.get("steering", ())):
                        await asyncio.sleep(0.3)
                        for _ in range(2):  # a repeated message is delivered once
                            receipt = await interaction.steer(message, message_id=f"m{number}")
                        receipts.append(receipt["outcome"])
                    await turn
                trace = interaction.trace
    return {
        "errors": [f"{error.type}: {error.message}" for error in trace.errors],
        "stop": trace.stop_condition,
        "turns": trace.num_turns,
        "reply": trace.root_reply,
        "receipts": receipts,
        "nodes": [json.loads(node.message.model_dump_json()) for node in trace.nodes],
    }


def main() -> None:
    """Do the job on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    prepare_runner()
    report = asyncio.run(rollout(json.load(sys.stdin)))
    answers.write(json.dumps(report))
    answers.flush()


if __name__ == "__main__":
    main()
