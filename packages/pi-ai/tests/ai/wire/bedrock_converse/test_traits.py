from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.wire.bedrock_converse.compat import ModelCompat, compat_of
from tests.ai.wire.bedrock_converse.calls import model

NEW_CLAUDE = ModelCompat(cache="long", thinking="effort", thoughts="signed", temperature=False)
PROFILE = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4"


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("anthropic.claude-opus-5-5", NEW_CLAUDE),
        ("global.anthropic.claude-fable-5", NEW_CLAUDE),
        ("anthropic.claude-mythos-preview", NEW_CLAUDE),
        ("us.anthropic.claude-opus-4-7", NEW_CLAUDE),
        (
            "us.anthropic.claude-opus-4-6-v1",
            ModelCompat(cache="long", thinking="effort", thoughts="signed"),
        ),
        (
            "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            ModelCompat(cache="long", thinking="budget", interleaved=True, thoughts="signed"),
        ),
        (
            "apac.anthropic.claude-sonnet-4-20250514-v1:0",
            ModelCompat(cache="short", thinking="budget", interleaved=True, thoughts="signed"),
        ),
        (
            "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
            ModelCompat(cache="short", thinking="budget", thoughts="signed"),
        ),
        ("anthropic.claude-3-haiku-20240307-v1:0", ModelCompat(thoughts="signed")),
        ("us.amazon.nova-pro-v1:0", ModelCompat(cache="short")),
        ("us.amazon.nova-2-lite-v1:0", ModelCompat(cache="short", thinking="nova")),
        ("openai.gpt-oss-120b-1:0", ModelCompat(thinking="gpt-oss")),
        ("global.openai.gpt-5.6-luna", ModelCompat(thinking="openai")),
        ("deepseek.v3.2", ModelCompat(thoughts="never")),
        ("meta.llama3-3-70b-instruct-v1:0", ModelCompat()),
    ],
)
def test_capabilities_are_derived_from_the_model_id(id: str, expected: ModelCompat) -> None:
    assert compat_of(model(id)) == expected


def test_capabilities_of_an_opaque_profile_are_derived_from_the_model_name() -> None:
    assert compat_of(model(PROFILE, name="Claude Opus 4.6 (team)")).thinking == "effort"
    assert compat_of(model(PROFILE, name="our profile")) == ModelCompat()


def test_a_flag_sets_the_support_of_strict_tools() -> None:
    assert compat_of(model(compat={"supportsStrictMode": True})).strict_tools
    assert not compat_of(model(compat={"somethingElse": 1})).strict_tools


def test_a_flag_of_the_wrong_type_raises_with_a_hint() -> None:
    with pytest.raises(BadRequest) as refused:
        compat_of(model("m", compat={"supportsStrictMode": "yes"}))

    assert refused.value.message.startswith("The compat flags of model 'm' cannot be read:")
    assert refused.value.hint == "Correct the model's compat in models.json."
