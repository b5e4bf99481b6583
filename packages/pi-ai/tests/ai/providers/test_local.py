from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.ai.collection import Models
from pi.ai.http.client import HttpClient
from pi.ai.local.download import has_engine
from pi.ai.local.weights import SMOLLM2
from pi.ai.messages import Context, Tool, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.embedded import SMALL_MODEL, LocalProvider, gguf_model
from pi.ai.wire_support.exchange import Services
from pi.base.clock import SystemClock
from tests.ai.local.wheels import real_weights
from tests.ai.test_models_collection import Doors

HELLO = Context(
    system_prompt="A long prompt about tools that so small a model cannot use.",
    messages=(UserMessage(content="Say hello."),),
    tools=(Tool(name="bash", description="run", parameters={"type": "object"}),),
)
WHO = Context(messages=(UserMessage(content="Who are you?"),))
FRANCE = Context(messages=(UserMessage(content="What is the capital of France?"),))


def collection(folder: Path, reports: list[str]) -> Models:
    return Models(
        [LocalProvider(folder, environ=dict(os.environ), report=reports.append)],
        auth=Doors("local"),
        clock=SystemClock(),
        make_services=lambda: Services(
            http=HttpClient(environ={}), clock=SystemClock(), environ={}
        ),
    )


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_the_embedded_model_answers_without_tools_and_reports_that_it_loads(
    root: Path,
) -> None:
    reports: list[str] = []
    async with real_weights(root) as folder:
        models = collection(folder, reports)
        try:
            first = await models.complete(SMALL_MODEL, HELLO)
            facts = [await models.complete(SMALL_MODEL, FRANCE) for _ in range(2)]
            itself = await models.complete(SMALL_MODEL, WHO)
            by_path = await models.complete(gguf_model(folder / SMOLLM2.file_name), HELLO)
        finally:
            await models.close()

    assert first.text.strip(), first.error_message
    assert "Paris" in facts[0].text  # llama.cpp's own temperature gave another sentence each time
    assert facts[0].text == facts[1].text
    assert itself.stop_reason == "stop", itself.text  # it repeated one sentence without end
    assert by_path.stop_reason in ("stop", "length", "toolUse"), by_path.error_message
    assert reports[0] == f"Loading {SMALL_MODEL.name}…"
    assert len(reports) == 2


@pytest.mark.skipif(not has_engine(), reason="xllamacpp is not installed; not tested: its hints")
@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            SMALL_MODEL,
            "The weights of the embedded model are not here. Run `pi models pull` (92 MB).",
        ),
        (gguf_model(Path("/nowhere/x.gguf")), "There is no model file /nowhere/x.gguf."),
    ],
)
async def test_missing_weights_are_reported_as_an_error(
    tmp_path: Path, model: Model, message: str
) -> None:
    models = collection(tmp_path, [])

    answer = await models.complete(model, HELLO)

    assert answer.error_message == message
    await models.close()


async def test_any_gguf_file_can_be_used_as_a_model_by_its_path(tmp_path: Path) -> None:
    models = collection(tmp_path, [])

    assert models.get_model("local", "/models/x.GGUF") == gguf_model(Path("/models/x.GGUF"))
    assert models.get_model("local", "smollm3") is None
    await models.close()


def test_the_name_of_the_small_model_contains_its_size_and_limits() -> None:
    assert "135M" in SMALL_MODEL.name
    assert "no tools" in SMALL_MODEL.name
