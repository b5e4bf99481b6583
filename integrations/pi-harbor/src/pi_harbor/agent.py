"""The adapter: installs pi into the environment of a trial, runs it and keeps its trajectory."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import (
    ApiInternalServerError,
    ApiOverloadedError,
    ApiUsageLimitError,
    BaseInstalledAgent,
    ContextWindowExceededError,
    ErrorPattern,
    ModelNotFoundError,
    NetworkConnectionError,
    NonZeroAgentExitCodeError,
    with_prompt_template,
)
from harbor.agents.installed.pi import Pi as SessionConverter
from harbor.agents.model_connection import ModelConnectionSpec
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Trajectory
from pydantic import AliasChoices, Field

BUDGET_SPENT = 3
"""Exit code of a run that ``--max-turns`` or ``--max-cost`` has ended: its work is verified."""
CONFIG_FOLDER = PurePosixPath("/tmp/harbor-pi-harness")
CUSTOM_PROVIDER = "harbor-endpoint"
INSTALL = """\
export PATH="$HOME/.local/bin:$PATH"
if ! command -v pi >/dev/null 2>&1; then
  command -v uv >/dev/null 2>&1 || curl -LsSf https://astral.sh/uv/install.sh | sh
  uv tool install --python 3.12 {package}
fi
pi --version"""
# Output with model text and tool output goes to a file: Harbor searches what is printed for words
# of errors. After a failure the messages of failed answers are printed.
RUN = """\
export PATH="$HOME/.local/bin:$PATH"
mkdir -p {sessions}
{pi} </dev/null 2>{logs}/pi-errors.txt | grep -v '"type":"message_update"' >{logs}/pi.txt
code=${{PIPESTATUS[0]}}
session=$(ls -t {sessions}/*.jsonl 2>/dev/null | head -n 1)
[ -z "$session" ] || pi --export "$session" {logs}/pi.atif.json \
>/dev/null 2>{logs}/pi-export-errors.txt
cat {logs}/pi-errors.txt >&2
if [ "$code" -ne 0 ]; then
  grep '"type":"message_end".*"stopReason":"error"' {logs}/pi.txt | tail -n 1
fi
echo "$code" >{logs}/pi-exit-code.txt
[ "$code" -eq 0 ] || [ "$code" -eq {spent} ] || exit "$code\""""


class PiOptions(InstalledAgentOptions):
    """The options of ``--agent-kwarg``."""

    thinking: Annotated[
        Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
        Cli("--thinking"),
    ] = Field(
        default=None,
        validation_alias=AliasChoices("thinking", "reasoning_effort"),
        description="Thinking level.",
    )
    max_turns: Annotated[int | None, Cli("--max-turns")] = Field(
        default=None, ge=1, description="Maximum number of requests of the agent."
    )
    max_cost: Annotated[float | None, Cli("--max-cost")] = Field(
        default=None, gt=0, description="Maximum cost in US dollars."
    )
    tools: Annotated[str | None, Cli("--tools")] = Field(
        default=None, description="Only these tools, with commas."
    )
    model_api: str = Field(
        default="openai-completions", description="API of a custom endpoint (base URL)."
    )
    package: str = Field(
        default="pi-harness", description="What `uv tool install` is given: a name or a URL."
    )


class Pi(BaseInstalledAgent):
    """pi as an installed agent."""

    capabilities: ClassVar[AgentCapabilities] = AgentCapabilities(
        atif=True, resume=True, load_atif_trajectory=True, skills=True, mcp_servers=True
    )
    MODEL_CONNECTION = ModelConnectionSpec(passthrough=True)
    options_model = PiOptions
    options: PiOptions
    # The lines of pi that no pattern of Harbor recognises.
    ERROR_PATTERNS: ClassVar[list[ErrorPattern]] = [
        *BaseInstalledAgent.ERROR_PATTERNS,
        ErrorPattern(r"(?m)^(?:Error: )?50[024]\b.*", ApiInternalServerError),
        ErrorPattern(r"(?m)^(?:Error: )?5(?:03|29)\b.*|.*\boverloaded\b.*", ApiOverloadedError),
        ErrorPattern(
            r".*(?:usage_limit_reached|usage limit|insufficient_quota|exceeded your current quota"
            r"|billing|credit balance).*",
            ApiUsageLimitError,
        ),
        ErrorPattern(
            r".*(?:context_length_exceeded|maximum context length|prompt is too long).*",
            ContextWindowExceededError,
        ),
        ErrorPattern(r"(?m)^Error: Model .* not found.*", ModelNotFoundError),
        ErrorPattern(
            r".*(?:Cannot connect|Connection error|could not be reached).*", NetworkConnectionError
        ),
    ]

    @staticmethod
    def name() -> str:
        """The name in results."""
        return "pi-harness"

    def get_version_command(self) -> str:
        """Return a command that prints the version of pi."""
        return 'PATH="$HOME/.local/bin:$PATH" pi --version'

    async def install(self, environment: BaseEnvironment) -> None:
        """Install pi with uv, unless the image has it."""
        await self.ensure_system_dependencies(environment, ("curl",))
        package = self.options.package + (f"=={self._version}" if self._version else "")
        command = INSTALL.format(package=shlex.quote(package))
        await self.exec_as_agent(environment, command=f"set -e; {command}")

    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Give the instruction to pi and wait for its end."""
        if not self.model_name or "/" not in self.model_name:
            raise ValueError("The model must be named PROVIDER/MODEL.")
        env = {"PI_OFFLINE": "1", **self.model_connection.env}
        arguments = ["pi", "--print", "--mode", "json", "--headless", "--approve"]
        arguments += ["--session-dir", str(self._sessions)]
        arguments += await self._model_arguments(environment, env)
        arguments += await self._server_arguments(environment)
        if self.skills_dir:
            arguments += ["--skill", self.skills_dir]
        if self._load:
            await self._import_trajectory(environment, env)
        if self._load or self._resume:
            arguments.append("--continue")
        command = RUN.format(
            pi=" ".join([shlex.join(arguments), self.build_cli_flags(), shlex.quote(instruction)]),
            sessions=shlex.quote(str(self._sessions)),
            logs=shlex.quote(str(self.environment_logs_dir)),
            spent=BUDGET_SPENT,
        )
        await self.exec_as_agent(environment, command=command, env=env)

    def populate_context_post_run(self, context: AgentContext) -> None:
        """Add the trajectory and its totals; that of a killed run is made of its session."""
        exported = self.logs_dir / "pi.atif.json"
        if exported.is_file():
            document = json.loads(exported.read_text())
            Trajectory.model_validate(document)
            (self.logs_dir / "trajectory.json").write_text(json.dumps(document))
            totals = document["final_metrics"]
            context.n_input_tokens = totals["total_prompt_tokens"]
            context.n_cache_tokens = totals["total_cached_tokens"]
            context.n_output_tokens = totals["total_completion_tokens"]
            context.cost_usd = totals["total_cost_usd"]
            context.rollout_details = rollout_details(document)
        else:
            converter = SessionConverter(logs_dir=self.logs_dir, model_name=self.model_name)
            converter.populate_context_post_run(context)
        code = self.logs_dir / "pi-exit-code.txt"
        if code.is_file():
            context.metadata = {**(context.metadata or {}), "exit_code": int(code.read_text())}

    def _classify_exec_error(self, command: str, result: Any) -> NonZeroAgentExitCodeError:
        """Classify by the messages of failed answers, not by what a tool or the model wrote."""
        narrowed = result.model_copy(update={"stdout": error_messages(result.stdout or "")})
        return super()._classify_exec_error(command, narrowed)

    @property
    def _sessions(self) -> PurePosixPath:
        return self.environment_logs_dir / "pi" / "sessions"

    async def _model_arguments(
        self, environment: BaseEnvironment, env: dict[str, str]
    ) -> list[str]:
        """Return the options for the model; an endpoint of the user becomes a provider."""
        assert self.model_name is not None
        connection = self.model_connection
        provider, _, model = self.model_name.partition("/")
        if connection.configured_base_url is None:
            return ["--model", f"{connection.provider or provider}/{model}"]
        variable = "HARBOR_ENDPOINT_KEY"
        env[variable] = connection.api_key or "none"
        endpoint = {
            "baseUrl": connection.configured_base_url,
            "api": self.options.model_api,
            "apiKey": f"${variable}",
            "models": [{"id": model, "reasoning": self.options.thinking not in (None, "off")}],
        }
        models = {"providers": {CUSTOM_PROVIDER: endpoint}}
        await self._write(environment, "models.json", models)
        env["PI_CODING_AGENT_DIR"] = str(CONFIG_FOLDER)
        return ["--model", f"{CUSTOM_PROVIDER}/{model}"]

    async def _server_arguments(self, environment: BaseEnvironment) -> list[str]:
        """Return the options for the MCP servers of the task."""
        if not self.mcp_servers:
            return []
        servers = {
            server.name: {"command": server.command, "args": list(server.args)}
            if server.transport == "stdio"
            else {"url": server.url}
            for server in self.mcp_servers
        }
        settings = {"mcp": {"enabled": True, "servers": servers}}
        return ["--config", str(await self._write(environment, "settings.json", settings))]

    async def _write(self, environment: BaseEnvironment, name: str, content: Any) -> PurePosixPath:
        folder = shlex.quote(str(CONFIG_FOLDER))
        await self.exec_as_agent(environment, command=f"mkdir -p {folder} && chmod 700 {folder}")
        path = CONFIG_FOLDER / name
        await self._upload_config_text(
            environment, content=json.dumps(content), remote_path=str(path), filename=name
        )
        return path

    async def _import_trajectory(self, environment: BaseEnvironment, env: dict[str, str]) -> None:
        """Make a session of the trajectory that the trial starts from."""
        trajectory = self._atif_load_trajectory
        if trajectory is None:
            raise ValueError("The trajectory to load must be an ATIF file.")
        target = str(CONFIG_FOLDER / "loaded.atif.json")
        folder = shlex.quote(str(CONFIG_FOLDER))
        await self.exec_as_agent(environment, command=f"mkdir -p {folder}")
        with tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary) / "loaded.atif.json"
            source.write_text(json.dumps(trajectory.to_json_dict()))
            await self._upload_agent_owned_file(environment, source, target)
        command = (
            'PATH="$HOME/.local/bin:$PATH" pi sessions import --format atif'
            f" --session-dir {shlex.quote(str(self._sessions))} {shlex.quote(target)}"
        )
        await self.exec_as_agent(environment, command=command, env=env)


def error_messages(output: str) -> str:
    """Return the messages of failed answers in JSON lines, and the lines that are not JSON."""
    lines = []
    for line in output.splitlines():
        if not line.startswith("{"):
            lines.append(line)
            continue
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        message = event.get("message") if isinstance(event, dict) else None
        if isinstance(message, dict) and isinstance(text := message.get("errorMessage"), str):
            lines.append(text)
    return "\n".join(lines)


def rollout_details(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return token ids and log-probabilities by answer; ``None`` if none were stored."""
    metrics = [step["metrics"] for step in document["steps"] if step.get("metrics")]
    rows = [row for row in metrics if row.get("completion_token_ids")]
    if not rows:
        return None
    names = ("prompt_token_ids", "completion_token_ids", "logprobs")
    return [{name: [row.get(name) or [] for row in rows] for name in names}]
