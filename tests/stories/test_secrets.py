"""Configured secrets reach neither commands nor exports.

The list is derived from the provider tables, so that new rows are covered automatically.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth import ambient, anthropic_gateway
from pi.ai.auth.config_values import remember_used
from pi.ai.auth.secrets import of_tables
from pi.ai.providers.discovered import local_providers
from pi.ai.providers.rows import BUILT_IN
from pi.cli.crashes import log_crash
from pi.coding.runtime.rpc_client import RpcClient
from pi.testing import says
from scripts.workspace import battery_manifests, source_files
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture
from tests.modes.interactive.commands.command_fixture import CommandFixture
from tests.stories.loopback_model import LoopbackModel, loopback_model

ROWS = (*BUILT_IN, *(server.row for server in local_providers({})))
VARIABLES = sorted(
    {name for row in ROWS for name in (*row.key_variables, *row.token_variables)}
    | {*ambient.SECRET_VARIABLES, *anthropic_gateway.SECRET_VARIABLES}
)
OWN_VARIABLES = ("MY_KEY", "MY_TEAM", "MY_MODEL_HEADER", "MY_OVERRIDE", "MY_STORED", "MY_DOTENV")
"""Variables named only in models.json and auth.json."""
PAGES = ("html", "md", "txt", "jsonl")
TIMEOUT_SECONDS = 60.0


def value_of(variable: str) -> str:
    """Return the unique value of a variable."""
    secret = f"value-of-{variable.lower().replace('_', '-')}-4711"
    if variable == anthropic_gateway.CUSTOM_HEADERS:
        return f"X-Gateway: {secret}"
    if variable == anthropic_gateway.CLIENT_KEY:
        return f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----"
    return secret


def needle(variable: str) -> str:
    """Return the part of the value that must not appear anywhere."""
    found = re.search(r"value-of-[a-z0-9-]+-4711", value_of(variable))
    assert found is not None
    return found[0]


def models_json(url: str) -> dict[str, Any]:
    """Return a working provider with a secret in every place that may contain one."""
    own = {
        "baseUrl": url,
        "apiKey": "$MY_KEY",
        "api": "openai-completions",
        "headers": {
            "X-Team": "${MY_TEAM}",
            "X-Literal": "literal-header-4711",
            "X-Command": "!printf %s command-4711 | tr a-z A-Z",
            "Authorization": "Bearer literal-bearer-4711",
            "User-Agent": "my-own-client",
        },
        "models": [{"id": "m", "headers": {"X-Model": "$MY_MODEL_HEADER"}}],
        "modelOverrides": {"m": {"headers": {"X-Override": "mixed-$MY_OVERRIDE"}}},
    }
    other = {"baseUrl": "http://me:literal-password-4711@127.0.0.1:9", "apiKey": "literal-key-4711"}
    from_file = {"baseUrl": "http://127.0.0.1:9", "apiKey": "$MY_DOTENV"}
    return {"providers": {"mine": own, "other": other, "from-file": from_file}}


AUTH_JSON = {
    "groq": {"type": "api_key", "key": "stored-key-4711"},
    "xai": {"type": "api_key", "key": "$MY_STORED"},
    "anthropic": {
        "type": "oauth",
        "access": "access-4711",
        "refresh": "refresh-4711",
        "expires": 1,
    },
    "amazon-bedrock": {
        "type": "api_key",
        "env": {"AWS_SECRET_ACCESS_KEY": "stored-aws-4711", "AWS_REGION": "eu-north-4711"},
    },
}
SETTINGS = {"oauthClients": {"xai": {"clientId": "pi", "clientSecret": "client-secret-4711"}}}
LITERALS = (
    "literal-header-4711",
    "COMMAND-4711",
    "literal-bearer-4711",
    "literal-password-4711",
    "literal-key-4711",
    "stored-key-4711",
    "access-4711",
    "refresh-4711",
    "stored-aws-4711",
    "client-secret-4711",
)
NEEDLES = (*map(needle, (*VARIABLES, *OWN_VARIABLES)), *LITERALS)
NO_SECRETS = ("my-own-client", "eu-north-4711")
"""Parts of the same files that exports must keep."""


class SecretsFixture:
    """A user with secrets in all variables and files, and a local model."""

    def __init__(self, tmp_path: Path, model: LoopbackModel) -> None:
        self.model = model
        self.project, self.home = tmp_path / "project", tmp_path / "home"
        self.agent_dir = self.home / ".pi/agent"
        self.agent_dir.mkdir(parents=True)
        self.project.mkdir()
        self.write("models.json", models_json(model.url))
        self.write("auth.json", AUTH_JSON)
        more = {"bash": {"extended": True}, "async": {"enabled": True}}
        self.write("settings.json", {**SETTINGS, **more})
        (self.agent_dir / ".env").write_text(f"MY_DOTENV={value_of('MY_DOTENV')}\n")

    def write(self, name: str, content: object) -> None:
        path = self.agent_dir / name
        path.write_text(json.dumps(content))
        path.chmod(0o600)

    @property
    def environ(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        given = {name: value_of(name) for name in (*VARIABLES, *OWN_VARIABLES)}
        del given["MY_DOTENV"]
        own = {"HOME": str(self.home), "PI_SKIP_VERSION_CHECK": "1", "PI_OFFLINE": "1"}
        copies = {"COPY": "stored-key-4711", "LINE": f"key={needle('OPENAI_API_KEY')} model=m"}
        return {**given, **copies, **keep, **own, "HARMLESS": "seen"}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of pi."""
        return subprocess.run(
            [sys.executable, "-m", "pi", *words],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    @property
    def session_file(self) -> Path:
        [file] = (self.agent_dir / "sessions").rglob("*.jsonl")
        return file


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[SecretsFixture]:
    with loopback_model() as model:
        yield SecretsFixture(tmp_path, model)


async def when_written(path: Path) -> str:
    """Wait for a file that a command writes. Returns its content."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not path.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
    return path.read_text()


def found_in(text: str) -> list[str]:
    return [secret for secret in NEEDLES if secret in text]


@pytest.mark.full
async def test_no_configured_secret_reaches_commands_or_exports(
    kit: SecretsFixture,
) -> None:
    shown = "env > {0}.new && mv {0}.new {0}"
    kit.model.calls = [
        {"command": shown.format("bash.txt")},
        {"command": shown.format("job.txt"), "async": True},
    ]
    started = RpcClient.started("--model", "mine/m", cwd=kit.project, env=kit.environ)
    async with started as client:
        # The conversation contains all secrets, so that exports have to redact them.
        await client.prompt_and_wait(" ".join((*NEEDLES, *NO_SECRETS)))
        await client.bash(shown.format("user.txt"))
        environments = {
            name: await when_written(kit.project / f"{name}.txt")
            for name in ("bash", "job", "user")
        }
        exported = {}
        for kind in PAGES:
            path = kit.project / f"live.{kind}"
            await client.request("export_html", outputPath=str(path))
            exported[path.name] = path.read_text()

    for kind in PAGES:
        path = kit.project / f"later.{kind}"
        assert kit.run("--export", str(kit.session_file), str(path)).returncode == 0
        exported[path.name] = path.read_text()

    kept = kit.session_file.read_text()
    assert [secret for secret in NEEDLES if secret not in kept] == []
    assert {name: found_in(text) for name, text in environments.items()} == {
        "bash": [],
        "job": [],
        "user": [],
    }
    assert all("HARMLESS=seen" in text for text in environments.values())
    # The output of a key command is known only to the process that ran it.
    printed = {f"later.{kind}": ["COMMAND-4711"] for kind in PAGES}
    assert {name: found_in(text) for name, text in exported.items()} == {
        name: printed.get(name, []) for name in exported
    }
    assert {name for name, text in exported.items() if not all(w in text for w in NO_SECRETS)} == (
        set()
    )


async def test_secrets_added_to_models_json_during_a_session_are_withheld_immediately(
    kit: SecretsFixture,
) -> None:
    kit.write("models.json", {"providers": {}})
    started = RpcClient.started(cwd=kit.project, env=kit.environ)
    async with started as client:
        before = await client.bash("env")
        kit.write("models.json", models_json(kit.model.url))
        changed = await client.bash("env")
        kit.write("models.json", {"providers": {}})
        after = await client.bash("env")

    assert needle("MY_KEY") in before.output
    assert found_in(changed.output) == []
    # A key that was removed from the file is still withheld.
    assert found_in(after.output) == []


@pytest.mark.full
async def test_the_allow_setting_passes_named_variables_to_commands(kit: SecretsFixture) -> None:
    kit.write("settings.json", {"shell": {"env": {"allow": ["AWS_*", "MY_KEY"]}}})
    started = RpcClient.started("--model", "mine/m", cwd=kit.project, env=kit.environ)
    async with started as client:
        seen = await client.bash("env")

    allowed = {needle(name) for name in VARIABLES if name.startswith("AWS_")}
    assert set(found_in(seen.output)) == allowed | {needle("MY_KEY")}


async def test_secrets_exported_by_a_shell_profile_are_withheld(kit: SecretsFixture) -> None:
    kit.write("settings.json", {"shell": {"login": True}, "shellCommandPrefix": "export MY_TEAM=b"})
    lines = [f"export {name}=value-of-profile-4711" for name in ("MY_KEY", *VARIABLES)]
    (kit.home / ".bash_profile").write_text("\n".join([*lines, "export PROFILE=read"]))
    started = RpcClient.started("--model", "mine/m", cwd=kit.project, env=kit.environ)
    async with started as client:
        seen = (await client.bash("env")).output

    assert "PROFILE=read" in seen
    assert "value-of-profile" not in seen
    assert "MY_TEAM" not in seen


async def test_credentials_of_extensions_that_are_not_loaded_reach_no_command(
    kit: SecretsFixture,
) -> None:
    environ = {**kit.environ, "PI_PYTHON_GATEWAY_TOKEN": "value-of-gateway-4711"}
    started = RpcClient.started("--model", "mine/m", cwd=kit.project, env=environ)
    async with started as client:
        seen = (await client.bash("env; echo $HARMLESS")).output

    assert "HARMLESS=seen" in seen
    assert "PI_PYTHON_GATEWAY_TOKEN" not in seen
    assert "value-of-gateway" not in seen


@pytest.mark.full
def test_doctor_lists_withheld_credentials_of_extensions(kit: SecretsFixture) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pi", "doctor"],
        cwd=kit.project,
        env={**kit.environ, "TAVILY_API_KEY": "value-of-tavily-4711"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert "TAVILY_API_KEY" in done.stdout
    assert "value-of-tavily" not in done.stdout


async def test_no_report_dump_or_crash_log_contains_a_secret(tmp_path: Path) -> None:
    variables = {name: value_of(name) for name in (*VARIABLES, *OWN_VARIABLES)}
    fixture = SessionFixture(tmp_path, says("a"), environ={**ENVIRON, **variables})
    fixture.write(".pi/agent/models.json", json.dumps(models_json("http://127.0.0.1:9")))
    fixture.write(".pi/agent/auth.json", json.dumps(AUTH_JSON)).chmod(0o600)
    fixture.write(".pi/agent/settings.json", json.dumps(SETTINGS))
    everything = " ".join(NEEDLES)
    session = await fixture.open()
    remember_used("COMMAND-4711")  # as the request that runs the command does
    await session.prompts.prompt(everything)
    on = CommandFixture(fixture, session, tmp_path)
    await on.run(f"/bug {everything}", "enter")
    await on.run("/debug")
    dump = await session.exports.text()
    await session.close()
    environ = {**fixture.host.environ, "PI_CODING_AGENT_DIR": str(fixture.agent_dir)}
    crash = log_crash(ValueError(everything), environ).read_text()

    [report] = (fixture.agent_dir / "bug-reports").iterdir()
    with zipfile.ZipFile(report) as archive:
        written = {name: archive.read(name).decode() for name in archive.namelist()}
    written |= {"dump": dump, "crash": crash}
    written["debug"] = (fixture.agent_dir / "pi-debug.log").read_text()
    assert len(written) == 5
    assert all("[redacted] [redacted]" in text for text in written.values())
    assert {name: found_in(text) for name, text in written.items()} == {
        name: [] for name in written
    }


def test_doctor_lists_withheld_variables_without_their_values(kit: SecretsFixture) -> None:
    done = kit.run("doctor")

    assert [name for name in (*VARIABLES, *OWN_VARIABLES) if name not in done.stdout] == []
    assert found_in(done.stdout + done.stderr) == []


def test_every_variable_in_the_source_named_like_a_secret_is_withheld(root: Path) -> None:
    sounds = re.compile(
        r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|HEADERS)(?:_ID)?)["']"""
    )
    named = {
        name for path in source_files(root) for name in sounds.findall(path.read_text("utf-8"))
    }

    of_batteries = {
        name
        for path in battery_manifests(root)
        for name in tomllib.loads(path.read_text("utf-8")).get("secrets", ())
    }
    not_of_providers = {
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
    }
    assert sorted(named - of_tables().names - of_batteries - not_of_providers) == []
    assert {"OPENAI_API_KEY", "AWS_SESSION_TOKEN"} <= named  # the pattern finds variables
