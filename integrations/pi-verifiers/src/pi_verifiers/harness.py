"""The harness: one ``pi acp`` for each rollout, with the model endpoint of verifiers."""

from __future__ import annotations

import json
import shlex
from typing import ClassVar, Literal

from pydantic import Field
from verifiers.v1.acp import ACPConfig, ACPHarness
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig, skill_destination
from verifiers.v1.harnesses.utils.install import remove_dir
from verifiers.v1.runtimes import Runtime
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Trace

KEY = "PI_ROLLOUT_KEY"
"""The variable with the key of the model endpoint."""
PROVIDER = "rollout"
APIS = {
    "chat_completions": "openai-completions",
    "responses": "openai-responses",
    "anthropic_messages": "anthropic-messages",
}
INSTALL = """\
export PATH="$HOME/.local/bin:$PATH"
if ! command -v {program} >/dev/null 2>&1; then
  command -v uv >/dev/null 2>&1 || curl -LsSf https://astral.sh/uv/install.sh | sh
  uv tool install --python 3.12 {package}
fi
{program} --version"""


class PiHarnessConfig(HarnessConfig):
    """The options below ``harness`` in a configuration."""

    package: str = "pi-harness"
    """What ``uv tool install`` is given where the runtime has no pi."""
    command: list[str] = Field(default=["pi"])
    """The program of pi, with options."""
    transport: Literal["chat_completions", "responses", "anthropic_messages"] = "chat_completions"
    """The API of the model endpoint."""
    context_window: int = 128_000
    """Tokens after which pi compacts."""
    max_output: int = 32_000
    """Maximum of tokens in an answer."""


class PiHarness(ACPHarness[PiHarnessConfig]):
    """pi as the program of a rollout."""

    APPENDS_SYSTEM_PROMPT: ClassVar[bool] = True
    SUPPORTS_MCP: ClassVar[bool] = True
    SUPPORTS_TOOL_INTERCEPTION: ClassVar[bool] = True
    SUPPORTS_SKILLS: ClassVar[bool] = True

    async def setup(self, runtime: Runtime) -> None:
        """Install pi where the runtime does not have it."""
        command = INSTALL.format(
            program=shlex.quote(self.config.command[0]), package=shlex.quote(self.config.package)
        )
        result = await runtime.run(["sh", "-ec", command], self.config.resolved_env)
        if result.exit_code:
            raise RuntimeError(f"pi could not be installed: {result.stderr.strip()[-1000:]}")
        await super().setup(runtime)

    async def prepare_acp(
        self,
        ctx: ModelContext,
        trace: Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TaskData,
    ) -> ACPConfig:
        """Write the configuration of a rollout; returns the command."""
        system_prompt, prompt = self.resolve_prompt(data)
        folder = _folder(trace)
        await self.install_skills(runtime, f"{folder}/skills")
        await runtime.write(
            f"{folder}/models.json", json.dumps(self._models(ctx, endpoint)).encode()
        )
        settings = {"permissions": {"mode": "off"}, "defaultProjectTrust": "always"}
        await runtime.write(f"{folder}/settings.json", json.dumps(settings).encode())
        command = [*self.config.command, "acp", "--headless"]
        command += ["--model", f"{PROVIDER}/{ctx.model}"]
        for skill in self.config.skills:
            command += ["--skill", skill_destination(skill, f"{folder}/skills")]
        if self.config.disabled_tools:
            command += ["--exclude-tools", ",".join(self.config.disabled_tools)]
        if system_prompt:
            command += ["--append-system-prompt", system_prompt]
        effort = ctx.sampling.reasoning_effort
        if effort is not None:
            command += ["--thinking", "off" if effort == "none" else effort]
        env = {
            **self.config.resolved_env,
            KEY: secret,
            "PI_CODING_AGENT_DIR": folder,
            "PI_OFFLINE": "1",
        }
        return ACPConfig(env=env, command=command, prompt=prompt, mcp_urls=mcp_urls)

    async def gate_tools(self, config: ACPConfig, runtime: Runtime, url: str, secret: str) -> None:
        """Ask before every call, also before those that scripts make."""
        config.command += ["--permission-mode", "ask-all"]

    async def cleanup(self, trace: Trace, runtime: Runtime) -> None:
        """Remove the configuration of a rollout."""
        await remove_dir(runtime, _folder(trace), "configuration of pi")

    def _models(self, ctx: ModelContext, endpoint: str) -> dict[str, object]:
        transport = self.config.transport
        base_url = endpoint.removesuffix("/v1") if transport == "anthropic_messages" else endpoint
        model = {
            "id": ctx.model,
            "reasoning": ctx.sampling.reasoning_effort not in (None, "none"),
            "input": ["text", "image"],
            "contextWindow": self.config.context_window,
            "maxTokens": ctx.sampling.max_tokens or self.config.max_output,
        }
        provider = {
            "baseUrl": base_url,
            "api": APIS[transport],
            "apiKey": f"${KEY}",
            "models": [model],
        }
        return {"providers": {PROVIDER: provider}}


def _folder(trace: Trace) -> str:
    return f".pi-rollout-{trace.id}"
