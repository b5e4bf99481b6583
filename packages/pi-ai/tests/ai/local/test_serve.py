"""The real thing: the embedded model answers over three wires."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.ai.collection import Models
from pi.ai.http.client import HttpClient
from pi.ai.local.server import LocalServer
from pi.ai.local.weights import SMOLLM2, installed
from pi.ai.messages import Context, UserMessage
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.embedded import SMALL_MODEL
from pi.ai.providers.wire_provider import WireProvider
from pi.ai.wire_support.exchange import Services
from pi.base.clock import SystemClock
from pi.base.records import replace
from tests.ai.local.wheels import real_weights
from tests.ai.test_models_collection import Doors

HELLO = Context(
    system_prompt="Answer in one short sentence.", messages=(UserMessage(content="Say hello."),)
)


def over(api: str, address: str) -> Model:
    base = address if api == "anthropic-messages" else f"{address}/v1"
    return replace(SMALL_MODEL, api=api, base_url=base, max_tokens=24)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_the_embedded_model_answers_over_three_wires(root: Path) -> None:
    async with real_weights(root) as folder:
        await answers_over_three_wires(folder)


async def answers_over_three_wires(folder: Path) -> None:
    file = installed(SMOLLM2, folder)
    assert file is not None
    server = LocalServer(file, context=1024, environ=dict(os.environ))
    models = Models(
        [WireProvider(Provider(id="local", name="Local"), lambda: ())],
        auth=Doors("local"),
        clock=SystemClock(),
        make_services=lambda: Services(
            http=HttpClient(environ={}), clock=SystemClock(), environ={}
        ),
    )

    try:
        address = await server.address()
        for api in ("openai-completions", "anthropic-messages", "openai-responses"):
            message = await models.complete(over(api, address), HELLO)
            assert message.stop_reason in ("stop", "length"), (api, message.error_message)
            assert message.text.strip(), api
            assert message.usage.output > 0, api
    finally:
        await models.close()
        await server.close()
