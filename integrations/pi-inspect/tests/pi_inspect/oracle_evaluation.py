"""Runs in the environment of Inspect: evaluations with a mock model and a local sandbox.

Reads a job from standard input and writes a report.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import tiktoken


class Words:
    """Stands in for the tokenizer of OpenAI, whose table would be downloaded."""

    name = "words"

    def encode(self, text: str, **options: Any) -> list[int]:
        """Return a number for each word."""
        return list(range(len(text.split())))

    encode_ordinary = encode


tiktoken.get_encoding = lambda name: Words()
tiktoken.encoding_for_model = lambda name: Words()

from inspect_ai import Task, eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, get_model  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.tool import tool  # noqa: E402

from pi_inspect import pi, pi_solver  # noqa: E402


@tool
def lookup() -> Any:
    """A tool on the host."""

    async def execute(word: str) -> str:
        """Look up a word.

        Args:
            word: The word.
        """
        return f"{word} means water"

    return execute


def output(row: dict[str, Any]) -> ModelOutput:
    """An answer of the mock model."""
    if "call" in row:
        return ModelOutput.for_tool_call("mockllm/model", row["call"], row["arguments"])
    return ModelOutput.from_content("mockllm/model", row["text"])


def main() -> None:
    """Do the job on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    job = json.load(sys.stdin)
    options = dict(job["options"])
    if job.get("tools"):
        options["tools"] = [lookup()]
    solver = pi_solver(**options) if job.get("as_solver") else pi(**options)
    task = Task(
        dataset=[Sample(input="Do it", target=job["target"])],
        solver=solver,
        scorer=includes(),
        sandbox="local",
        **job.get("limits", {}),
    )
    model = get_model("mockllm/model", custom_outputs=[output(row) for row in job["answers"]])
    (log,) = eval(task, model=model, display="none", log_dir=job["logs"])
    (sample,) = log.samples or [None]
    report: dict[str, Any] = {"status": log.status, "error": log.error and log.error.message}
    if sample is not None:
        report |= {
            "sample error": sample.error and sample.error.message,
            "limit": sample.limit and sample.limit.type,
            "scores": {name: score.value for name, score in (sample.scores or {}).items()},
            "messages": [[message.role, message.text] for message in sample.messages],
            "usage": {name: usage.total_tokens for name, usage in sample.model_usage.items()},
        }
    answers.write(json.dumps(report))
    answers.flush()


if __name__ == "__main__":
    main()
