from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from pi.agent.harness.hooks import ProviderHooks
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL
from pi.ai.request import OnPayload, OnResponse, StreamOptions


def adding(name: str) -> OnPayload:
    async def hook(payload: Json, model: Model) -> Json | None:
        return {**payload, "seen": [*payload["seen"], name]}

    return hook


async def looking(payload: Json, model: Model) -> Json | None:
    return None


async def failing(payload: Json, model: Model) -> Json | None:
    raise ZeroDivisionError


async def sent(options: StreamOptions) -> Json | None:
    assert options.on_payload is not None
    return await options.on_payload({"seen": []}, FAUX_MODEL)


async def test_each_hook_gets_the_payload_as_changed_by_earlier_hooks() -> None:
    hooks = ProviderHooks()
    remove = hooks.before_request(adding("removed"))
    hooks.before_request(adding("one"))
    hooks.before_request(looking)
    hooks.before_request(adding("two"))
    remove()

    options = hooks.applied(StreamOptions(on_payload=adding("own"), temperature=0.5))

    assert await sent(options) == {"seen": ["own", "one", "two"]}
    assert options.temperature == 0.5


async def test_a_hook_that_fails_is_logged_and_the_request_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = ProviderHooks()
    hooks.before_request(adding("one"))
    hooks.before_request(failing)
    hooks.before_request(adding("two"))

    with caplog.at_level(logging.ERROR):
        payload = await sent(hooks.applied(StreamOptions()))

    assert payload == {"seen": ["one", "two"]}
    assert "a hook failed before a request" in caplog.text


async def test_every_hook_sees_the_response(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[tuple[str, int, str]] = []
    hooks = ProviderHooks()

    def named(name: str, *, fails: bool = False) -> OnResponse:
        async def hook(status: int, headers: Mapping[str, str], model: Model) -> None:
            seen.append((name, status, headers["x"]))
            if fails:
                raise ZeroDivisionError

        return hook

    hooks.after_response(named("one", fails=True))
    remove = hooks.after_response(named("removed"))
    hooks.after_response(named("two"))
    remove()
    options = hooks.applied(StreamOptions(on_response=named("own")))
    assert options.on_response is not None

    with caplog.at_level(logging.ERROR):
        await options.on_response(200, {"x": "y"}, FAUX_MODEL)

    assert seen == [("own", 200, "y"), ("one", 200, "y"), ("two", 200, "y")]
    assert "a hook failed after a response" in caplog.text
