from __future__ import annotations

import msgspec

from pi.ai.models.model import Model, ModelCost, PriceTier
from pi.base.records import replace


def test_a_model_is_read_from_the_json_of_a_catalog() -> None:
    wire = (
        '{"id":"m","name":"M","api":"openai-responses","provider":"openai","baseUrl":"https://x",'
        '"reasoning":true,"thinkingLevelMap":{"off":null,"xhigh":"xhigh"},"input":["text","image"],'
        '"cost":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":0,'
        '"tiers":[{"inputTokensAbove":1000,"input":2,"output":4,"cacheRead":0.2,"cacheWrite":0}]},'
        '"contextWindow":1000,"maxTokens":100,"compat":{"supportsStore":false}}'
    )

    assert msgspec.json.decode(wire, type=Model) == Model(
        id="m",
        name="M",
        api="openai-responses",
        provider="openai",
        base_url="https://x",
        reasoning=True,
        thinking_level_map={"off": None, "xhigh": "xhigh"},
        input=("text", "image"),
        cost=ModelCost(
            input=1,
            output=2,
            cache_read=0.1,
            tiers=(PriceTier(input_tokens_above=1000, input=2, output=4, cache_read=0.2),),
        ),
        context_window=1000,
        max_tokens=100,
        compat={"supportsStore": False},
    )


def test_sees_images_follows_from_the_input_types() -> None:
    model = Model(id="m", name="M", api="a", provider="p")

    assert not model.sees_images
    assert replace(model, input=("text", "image")).sees_images
