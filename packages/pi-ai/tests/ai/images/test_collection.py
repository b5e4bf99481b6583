from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.images.catalog import IMAGE_MODELS
from pi.ai.images.collection import ImagesModels
from pi.ai.images.formats import ImageModel, ImageRequest, ImageResult
from pi.ai.messages import Cost, Image, Usage
from pi.ai.models.model import ModelCost
from pi.ai.provider import Provider
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.loopback import Site, site
from tests.ai.test_models_collection import Doors

PNG = Image(data="iVBORw0KGgo=", mime_type="image/png")
PROVIDER = Provider(id="p", name="P")
ANSWERS: dict[str, tuple[str, Any]] = {
    "openai-images": (
        "/images/generations",
        {"data": [{"b64_json": PNG.data}], "usage": {"input_tokens": 10, "output_tokens": 20}},
    ),
    "google-images": (
        "/models/m:generateContent",
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"text": "pondering", "thought": True},
                            {"inlineData": {"mimeType": "image/png", "data": PNG.data}},
                        ]
                    }
                }
            ],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20},
        },
    ),
    "openrouter-images": (
        "/chat/completions",
        {
            "choices": [
                {
                    "message": {
                        "content": "",
                        "images": [{"image_url": {"url": f"data:image/png;base64,{PNG.data}"}}],
                    }
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 20},
        },
    ),
}


def model(api: str, url: str) -> ImageModel:
    return ImageModel(
        id="m",
        name="M",
        api=api,
        provider="p",
        base_url=url,
        cost=ModelCost(input=1, output=2),
        headers={"X-Team": "a"},
    )


@asynccontextmanager
async def studio(pages: dict[str, Any], *doors: str) -> AsyncIterator[tuple[ImagesModels, Site]]:
    clock = FakeClock(now_ms=5)
    async with site(pages) as server:
        models = ImagesModels(
            IMAGE_MODELS,
            [PROVIDER],
            auth=Doors(*doors),
            clock=clock,
            make_services=lambda: Services(http=HttpClient(environ={}), clock=clock, environ={}),
        )
        yield models, server
        await models.close()


@pytest.mark.parametrize("api", sorted(ANSWERS))
async def test_every_api_shape_returns_the_same_result(api: str) -> None:
    path, answer = ANSWERS[api]
    async with studio({path: answer}, "p") as (models, server):
        result = await models.generate(model(api, server.url), ImageRequest(prompt="a cat"))

    assert result == ImageResult(
        images=(PNG,),
        usage=Usage(
            input=10,
            output=20,
            reasoning=0,
            total_tokens=30,
            cost=Cost(input=10e-6, output=40e-6, total=50e-6, total_from_provider=False),
        ),
        provider="p",
        model="m",
        timestamp=5,
    )
    ((_, asked, headers, body),) = server.asked
    assert asked == path
    assert headers["x-team"] == "a"
    assert "k" in (headers.get("x-goog-api-key"), headers.get("authorization", "")[-1:])
    assert b"a cat" in body


async def test_input_images_are_sent_with_the_request() -> None:
    request = ImageRequest(prompt="wider", images=(PNG,), size="1x1", aspect_ratio="16:9")
    for api, path in (
        ("openai-images", "/images/edits"),
        ("google-images", "/models/m:generateContent"),
        ("openrouter-images", "/chat/completions"),
    ):
        async with studio({path: ANSWERS[api][1]}, "p") as (models, server):
            result = await models.generate(model(api, server.url), request)

        assert result.images == (PNG,)
        body = server.asked[0][3]
        assert (b"\x89PNG" if api == "openai-images" else PNG.data.encode()) in body


async def test_extra_fields_override_the_request_body() -> None:
    path, answer = ANSWERS["openai-images"]
    request = ImageRequest(prompt="x", extra={"background": "transparent", "n": 2})
    async with studio({path: answer}, "p") as (models, server):
        await models.generate(model("openai-images", server.url), request)

    assert json.loads(server.asked[0][3]) == {
        "model": "m",
        "prompt": "x",
        "n": 2,
        "background": "transparent",
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((429, {"error": {"message": "slow"}}), '429: {"message":"slow"}'),
        ({"data": []}, "The answer has no picture."),
        ([7], "The answer has no picture."),
        (
            {"error": {"message": "Overloaded", "code": 503}},
            '503: {"message":"Overloaded","code":503}',
        ),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "The request was blocked: SAFETY."),
    ],
)
async def test_failures_are_part_of_the_result(answer: Any, message: str) -> None:
    async with studio({"/images/generations": answer}, "p") as (models, server):
        result = await models.generate(model("openai-images", server.url), ImageRequest(prompt="x"))

    assert (result.stop_reason, result.error_message, result.images) == ("error", message, ())


async def test_an_input_image_that_cannot_be_sent_is_reported_in_the_result() -> None:
    request = ImageRequest(prompt="wider", images=(replace(PNG, data="picture!"),))
    async with studio({}, "p") as (models, server):
        result = await models.generate(model("openai-images", server.url), request)

    assert result.stop_reason == "error"
    assert "A picture to start from is not base64" in str(result.error_message)


async def test_no_request_is_sent_without_a_key_a_known_api_or_a_known_provider() -> None:
    asked = ImageRequest(prompt="x")
    async with studio({}) as (models, server):
        plain = model("openai-images", server.url)
        results = [
            await models.generate(plain, asked),
            await models.generate(replace(plain, api="etch-a-sketch"), asked),
            await models.generate(replace(plain, provider="unknown"), asked),
        ]

    assert [result.error_message for result in results] == [
        "No API key for provider: p",
        'Model "p/m" cannot generate images.',
        'Model "unknown/m" cannot generate images.',
    ]
    assert server.asked == []


async def test_models_are_found_by_their_provider() -> None:
    async with studio({}) as (models, _):
        assert models.get_models() == IMAGE_MODELS
        assert [found.provider for found in models.get_models("openai")] == ["openai"]
        assert models.get_model("openai", "gpt-image-1") == IMAGE_MODELS[0]
        assert models.get_model("openai", "nope") is None
