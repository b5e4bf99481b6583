"""The options that every request of a session carries."""

from __future__ import annotations

from pathlib import Path

from pi.ai.messages import Image
from pi.ai.plan_limits import PlanLimit
from pi.coding.runtime.models import discover_models
from pi.testing import says
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture


async def test_requests_carry_the_session_and_its_settings(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), environ={**ENVIRON, "PI_CACHE_RETENTION": "long"})
    fixture.write(
        ".pi/agent/settings.json",
        '{"transport": "sse", "httpIdleTimeoutMs": 0, "thinkingBudgets": {"low": 7}}',
    )
    session = await fixture.open(thinking="low")
    await session.prompts.prompt("hi")
    await session.close()
    options = fixture.provider.requests[0].options

    assert options.session_id == session.entries.log.header.id
    assert (options.transport, options.timeout_ms, options.cache_retention) == ("sse", 0, "long")
    assert options.thinking_budgets is not None
    assert options.thinking_budgets["low"] == 7


async def test_requests_carry_the_retry_limits_of_the_settings(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    fixture.write(
        ".pi/agent/settings.json", '{"retry": {"provider": {"maxRetries": 4}, "maxDelayMs": 7}}'
    )
    session = await fixture.open()
    await session.prompts.prompt("hi")
    await session.close()
    options = fixture.provider.requests[0].options

    assert (options.max_retries, options.max_retry_delay_ms) == (4, 7)


async def test_images_are_not_sent_if_blocked(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    picture = Image(data="aGk=", mime_type="image/png")
    session = await fixture.open()
    await session.prompts.prompt("look", (picture,))
    session.settings.override({"images.blockImages": True})
    await session.prompts.prompt("and now?")
    stored = str(session.info.messages())
    await session.close()
    before, after = (str(request.messages) for request in fixture.provider.requests)

    assert "aGk=" in before and "aGk=" in stored
    assert "aGk=" not in after and "images.blockImages" in after


async def test_a_key_of_the_command_line_is_sent_with_requests(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open(api_key="k-1")
    await session.prompts.prompt("hi")
    await session.close()

    assert fixture.provider.requests[0].options.api_key == "k-1"


async def test_plan_limits_are_read_from_response_headers(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("hi")
    request = fixture.provider.requests[0]
    assert request.options.on_response is not None
    assert session.info.plan_limits() == ()
    headers = {"anthropic-ratelimit-unified-5h-utilization": "0.25"}
    await request.options.on_response(200, headers, request.model)
    limits = session.info.plan_limits()
    await session.close()

    assert limits == (PlanLimit(name="5 hours", used_percent=25.0),)


def test_user_models_are_found_and_errors_are_reported(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    fixture.write(
        ".pi/agent/models.json",
        '{"providers": {"mine": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k",'
        ' "api": "openai-completions", "models": [{"id": "m"}]}}}',
    )
    registry = discover_models(fixture.host, fixture.cwd)
    assert registry.find("mine", "m") is not None
    assert registry.has_auth("mine")

    fixture.write(".pi/agent/models.json", "{broken")
    discover_models(fixture.host, fixture.cwd)
    assert "models.json" in fixture.reports[0]
