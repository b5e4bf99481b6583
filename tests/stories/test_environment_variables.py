"""Environment variables that change requests to providers, checked at the server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import create_models
from pi.ai.messages import AssistantMessage, Context, UserMessage
from pi.ai.models.custom import read_custom_models
from pi.ai.providers.rows import BUILT_IN
from pi.ai.request import StreamOptions
from pi.base.installation import extra_command
from pi.testing import FakeClock
from tests.ai.loopback import NOWHERE, Site, site
from tests.ai.wire.openai_responses.websocket_server import says

HELLO = Context(messages=(UserMessage(content="hello"),))
HOUR = "2999-01-01T00:00:00Z"
ROLE = "arn:aws:iam::123456789012:role/pi"
ASSUMED = f"""
<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult><Credentials>
    <AccessKeyId>ASSUMED</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>
    <SessionToken>SESSION</SessionToken><Expiration>{HOUR}</Expiration>
  </Credentials></AssumeRoleWithWebIdentityResult>
</AssumeRoleWithWebIdentityResponse>
""".encode()


async def ask(
    server: Site,
    folder: Path,
    name: str,
    environ: Mapping[str, str],
    options: StreamOptions | None = None,
) -> AssistantMessage:
    """Send a request of a bundled model to ``server``, which rejects it. Returns the answer."""
    provider, _, model_id = name.partition("/")
    document = json.dumps({"providers": {provider: {"baseUrl": server.url}}})
    models = create_models(
        storage=AuthStorage(folder / "auth.json"),
        environ=environ,
        clock=FakeClock(),
        cwd=folder,
        folder=folder,
        custom=read_custom_models(document, "models.json", [row.id for row in BUILT_IN]),
    )
    model = models.get_model(provider, model_id)
    assert model is not None
    assert models.is_available(provider)
    try:
        return await models.complete(model, HELLO, options)
    finally:
        await models.close()


async def headers_for(folder: Path, name: str, environ: Mapping[str, str]) -> dict[str, str]:
    async with site({}) as server:
        await ask(server, folder, name, environ)
    [(_, _, headers, _)] = server.asked
    return headers


async def printed(
    folder: Path, providers: object, environ: Mapping[str, str], *words: str
) -> tuple[int, str, str]:
    """Return exit code, output and errors of ``pi -p`` with these providers in ``models.json``."""
    (folder / "models.json").write_text(json.dumps({"providers": providers}))
    (folder / "w").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pi", "-p", "--no-session", *words),
        cwd=folder / "w",
        env={
            **NOWHERE,
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PI_CODING_AGENT_DIR": str(folder),
            **environ,
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode().strip(), err.decode()


# Amazon ------------------------------------------------------------------------------------------

BEDROCK = "amazon-bedrock/us.anthropic.claude-opus-4-6-v1"


async def test_bedrock_requests_with_skip_auth_are_signed_without_real_credentials(
    tmp_path: Path,
) -> None:
    headers = await headers_for(tmp_path, BEDROCK, {"AWS_BEDROCK_SKIP_AUTH": "1"})

    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=none/")


async def test_a_role_is_assumed_with_the_token_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botocore", reason="not installed; not tested: roles of AWS")
    (tmp_path / "token").write_text("token-of-the-pod")
    environ = {  # from a .env file: they are not in the environment of the process
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_ROLE_ARN": ROLE,
        "AWS_REGION": "eu-west-1",
    }
    async with site({"/": ASSUMED}) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        headers = await headers_for(tmp_path, BEDROCK, environ)
        again = await headers_for(tmp_path, BEDROCK, environ)

    [(_, _, _, body)] = sts.asked  # the second request uses the credentials of the first
    assert b"Action=AssumeRoleWithWebIdentity" in body
    assert b"WebIdentityToken=token-of-the-pod" in body
    assert b"RoleSessionName=pi" in body
    for sent in (headers, again):
        assert "Credential=ASSUMED/" in sent["authorization"]
        assert "/eu-west-1/bedrock/" in sent["authorization"]
        assert sent["x-amz-security-token"] == "SESSION"


@pytest.mark.parametrize(
    ("without_botocore", "message"),
    [
        (True, f"run `{extra_command('bedrock')}`"),
        (False, f"AWS gave no credentials for the role {ROLE}: "),
    ],
)
async def test_a_role_that_cannot_be_assumed_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_botocore: bool, message: str
) -> None:
    if without_botocore:
        monkeypatch.setitem(sys.modules, "botocore.session", None)
    else:
        pytest.importorskip("botocore", reason="not installed; not tested: roles of AWS")
    environ = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "none"), "AWS_ROLE_ARN": ROLE}
    async with site({}) as server:
        answer = await ask(server, tmp_path, BEDROCK, environ)

    assert server.asked == []
    assert message in str(answer.error_message)


# Google ------------------------------------------------------------------------------------------


async def test_a_missing_google_credentials_file_is_reported_with_its_variable(
    tmp_path: Path,
) -> None:
    missing = str(tmp_path / "adc.json")
    environ = {
        "GOOGLE_APPLICATION_CREDENTIALS": missing,
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "l",
        "HOME": str(tmp_path),
    }
    async with site({}) as server:
        answer = await ask(server, tmp_path, "google-vertex/gemini-3.1-pro-preview", environ)

    assert server.asked == []
    assert answer.error_message == (
        f"GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist: {missing}"
    )


# Keys and tokens ---------------------------------------------------------------------------------


async def test_the_token_of_a_grok_plan_is_preferred_over_an_api_key(tmp_path: Path) -> None:
    environ = {"XAI_OAUTH_TOKEN": "token", "XAI_API_KEY": "key"}

    assert [
        (await headers_for(tmp_path, "xai/grok-4.7", given))["authorization"]
        for given in (environ, {"XAI_API_KEY": "key"})
    ] == ["Bearer token", "Bearer key"]


async def test_a_complete_cloudflare_gateway_url_needs_only_the_gateway_key(
    tmp_path: Path,
) -> None:
    environ = {"CLOUDFLARE_AI_GATEWAY_API_KEY": "of-the-gateway", "CLOUDFLARE_API_KEY": "other"}

    headers = await headers_for(tmp_path, "cloudflare-ai-gateway/claude-fable-5", environ)

    assert headers["x-api-key"] == "of-the-gateway"


# Thinking ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "beta", "tokens"),
    [
        ({}, True, 4096),
        ({"PI_NO_INTERLEAVED_THINKING": "1"}, False, 4096 + 2048),
        ({"PI_NO_INTERLEAVED_THINKING": "0"}, True, 4096),
    ],
)
async def test_interleaved_thinking_of_older_anthropic_models_can_be_disabled(
    tmp_path: Path, environ: dict[str, str], beta: bool, tokens: int
) -> None:
    options = StreamOptions(reasoning="low", max_tokens=4096)
    async with site({}) as server:
        given = {"ANTHROPIC_API_KEY": "k", **environ}
        await ask(server, tmp_path, "anthropic/claude-haiku-4-5", given, options)

    [(_, _, headers, body)] = server.asked
    sent = json.loads(body)
    assert ("interleaved-thinking-2025-05-14" in headers.get("anthropic-beta", "")) is beta
    assert (sent["max_tokens"], sent["thinking"]["budget_tokens"]) == (tokens, 2048)


# OpenAI ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({}, [(False, None, 1), (False, None, 3)]),
        ({"PI_OPENAI_STATEFUL": "1"}, [(True, None, 1), (True, "resp_1", 1)]),
    ],
)
async def test_only_new_messages_are_sent_if_openai_responses_are_stored(
    tmp_path: Path, environ: dict[str, str], sent: list[tuple[bool, str | None, int]]
) -> None:
    events = says("fine", "resp_1")
    page = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    async with site({"/responses": page}) as server:
        document = json.dumps({"providers": {"openai": {"baseUrl": server.url}}})
        models = create_models(
            storage=AuthStorage(tmp_path / "auth.json"),
            environ={"OPENAI_API_KEY": "k", **environ},
            clock=FakeClock(),
            cwd=tmp_path,
            folder=tmp_path,
            custom=read_custom_models(document, "models.json", ["openai"]),
        )
        model = models.get_model("openai", "gpt-5.5")
        assert model is not None
        options = StreamOptions(session_id="s")
        first = await models.complete(model, HELLO, options)
        going_on = (*HELLO.messages, first, UserMessage(content="go on"))
        await models.complete(model, Context(messages=going_on), options)
        await models.close()

    bodies = [json.loads(body) for _, _, _, body in server.asked]
    assert [
        (body["store"], body.get("previous_response_id"), len(body["input"])) for body in bodies
    ] == sent


@pytest.mark.full
async def test_requests_to_chatgpt_are_logged_if_requested(tmp_path: Path) -> None:
    login = {"type": "oauth", "access": "t", "refresh": "r", "expires": 2**52, "accountId": "a"}
    (tmp_path / "auth.json").write_text(json.dumps({"openai-codex": login}))
    events = says("fine", "resp_1")
    page = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    words = ("--model", "openai-codex/gpt-5.5", "hello")
    async with site({"/codex/responses": (200, page)}) as server:
        providers = {"openai-codex": {"baseUrl": server.url}}
        quiet = await printed(tmp_path, providers, {}, *words)
        assert not (tmp_path / "pi.log").exists()
        logged = await printed(tmp_path, providers, {"PI_CODEX_DEBUG": "1"}, *words)

    assert quiet == logged == (0, "fine", "")
    assert "asking gpt-5.5 over HTTP: 1 items" in (tmp_path / "pi.log").read_text()


# Providers with a list of models --------------------------------------------------------


@pytest.mark.full
def test_models_of_a_listing_provider_are_used_and_a_failed_listing_is_reported(
    tmp_path: Path,
) -> None:
    chunks = (
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "here"}, "finish_reason": None}]},
        {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    )
    answer = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    listed = {"data": [{"id": "m", "context_length": 8000}]}

    async def run_program(pages: Mapping[str, object], *words: str) -> tuple[int, str, str]:
        async with site(pages) as server:
            return await printed(
                tmp_path, {"venice": {"baseUrl": server.url}}, {"VENICE_API_KEY": "k"}, *words
            )

    code, out, err = asyncio.run(run_program({}, "hello"))
    assert (code, out) == (1, "")
    assert err.startswith("Venice did not give its list of models.\nCheck its key")
    code, out, err = asyncio.run(run_program({}, "--model", "venice/m", "hello"))
    assert (code, out) == (1, "")
    assert "Venice did not give its list of models. Check its key" in err
    pages = {"/models": listed, "/chat/completions": answer}
    assert asyncio.run(run_program(pages, "hello")) == (0, "here", "")
