"""The agent: runs ``pi -p`` in the sandbox, with the model and the tools of the evaluation.

The model endpoint is Inspect's bridge: limits of tokens, messages and time, the transcript and the
usage are those of the evaluation. Tools of the evaluation are MCP servers of the bridge.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from inspect_ai.agent import (
    Agent,
    AgentState,
    BridgedToolsSpec,
    agent,
    as_solver,
    sandbox_agent_bridge,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import Solver, solver
from inspect_ai.tool import Tool
from inspect_ai.util import SandboxEnvironment, store
from inspect_ai.util import sandbox as get_sandbox

BUDGET_SPENT = 3
"""Exit code of a run that ``max_turns`` has ended: its work is scored."""
FIRST_PORT = 13200
CONTEXT_WINDOW = 128_000
INSTALL = """\
export PATH="$HOME/.local/bin:$PATH"
if ! command -v {program} >/dev/null 2>&1; then
  command -v uv >/dev/null 2>&1 || curl -LsSf https://astral.sh/uv/install.sh | sh
  uv tool install --python 3.12 {package}
fi"""


class PiFailed(RuntimeError):
    """pi has ended with an error."""


@agent
def pi(
    *,
    name: str = "pi",
    description: str = "A coding agent that reads and changes files and runs commands.",
    system_prompt: str | None = None,
    tools: Sequence[Tool] = (),
    bridged_tools: Sequence[BridgedToolsSpec] = (),
    thinking: str | None = None,
    max_turns: int | None = None,
    options: Sequence[str] = (),
    model: str | None = None,
    context_window: int = CONTEXT_WINDOW,
    program: str = "pi",
    package: str = "pi-harness",
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    user: str | None = None,
    sandbox: str | None = None,
) -> Agent:
    """Return pi as an agent.

    ``tools`` run on the host and are offered to pi by MCP; ``bridged_tools`` names their servers.
    ``options`` are further options of the command line. ``package`` is installed with uv where the
    sandbox has no ``program``.
    """
    # Inspect recognises a proposed call by the description of its tool. pi adds the name of the
    # server to it, which marks text of others for the model.
    host = BridgedToolsSpec(name="host", tools=tools, require_proposal=False)
    specs = [*bridged_tools, *([host] if tools else [])]

    async def execute(state: AgentState) -> AgentState:
        """Run pi until it has finished."""
        box = get_sandbox(sandbox)
        port = store().get("pi_inspect_port", FIRST_PORT) + 1
        store().set("pi_inspect_port", port)
        install = INSTALL.format(program=shlex.quote(program), package=shlex.quote(package))
        await _checked(box, install, user=user)
        folder = (await _checked(box, "mktemp -d", user=user)).strip()
        async with sandbox_agent_bridge(
            state,
            model=f"inspect/{model}" if model else "inspect",
            sandbox=sandbox,
            port=port,
            bridged_tools=specs or None,
        ) as bridge:
            servers = {config.name: {"url": config.url} for config in bridge.mcp_server_configs}
            await _write(
                box, f"{folder}/models.json", _models(bridge.port, context_window, thinking)
            )
            await _write(box, f"{folder}/settings.json", _settings(servers))
            command = [program, "--print", "--headless", "--approve"]
            command += ["--model", "inspect/inspect", "--session-dir", f"{folder}/sessions"]
            if thinking is not None:
                command += ["--thinking", thinking]
            if max_turns is not None:
                command += ["--max-turns", str(max_turns)]
            if prompt := _system_prompt(state, system_prompt):
                command += ["--append-system-prompt", prompt]
            command += [*options, _prompt(state)]
            result = await box.exec(
                ["bash", "-c", 'export PATH="$HOME/.local/bin:$PATH"; exec "$@"', "bash", *command],
                cwd=cwd,
                env={"PI_CODING_AGENT_DIR": folder, "PI_OFFLINE": "1", **(env or {})},
                user=user,
                concurrency=False,
            )
            if result.returncode not in (0, BUDGET_SPENT):
                lines = (result.stderr or result.stdout).strip()
                raise PiFailed(f"pi ended with exit code {result.returncode}: {lines[-2000:]}")
        return bridge.state

    return execute


@solver
def pi_solver(**options: Any) -> Solver:
    """Return pi as a solver, with the options of ``pi``."""
    return as_solver(pi(**options))


async def _checked(box: SandboxEnvironment, command: str, user: str | None) -> str:
    result = await box.exec(["bash", "-ec", command], user=user)
    if not result.success:
        raise PiFailed(f"pi could not be prepared: {result.stderr.strip()[-2000:]}")
    return str(result.stdout)


async def _write(box: SandboxEnvironment, path: str, content: Any) -> None:
    await box.write_file(path, json.dumps(content))


def _models(port: int, context_window: int, thinking: str | None) -> dict[str, Any]:
    model = {
        "id": "inspect",
        "reasoning": thinking not in (None, "off"),
        "input": ["text", "image"],
        "contextWindow": context_window,
    }
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [model],
    }
    return {"providers": {"inspect": provider}}


def _settings(servers: dict[str, Any]) -> dict[str, Any]:
    # Inspect repeats requests to the model itself; a second layer would multiply the attempts.
    settings: dict[str, Any] = {"retry": {"enabled": False}}
    return settings | ({"mcp": {"enabled": True, "servers": servers}} if servers else {})


def _system_prompt(state: AgentState, extra: str | None) -> str:
    texts = [message.text for message in state.messages if isinstance(message, ChatMessageSystem)]
    return "\n\n".join([*texts, *([extra] if extra else [])])


def _prompt(state: AgentState) -> str:
    """Return the messages of the user since the last answer, as one text."""
    texts: list[str] = []
    for message in state.messages:
        if isinstance(message, ChatMessageAssistant):
            texts = []
        elif isinstance(message, ChatMessageUser):
            texts.append(message.text)
    return "\n\n".join(texts)
