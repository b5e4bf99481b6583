from __future__ import annotations

import pytest

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions, ToolChoice, valid_tool_choice
from pi.base.records import replace

MODEL = Model(id="m", name="M", api="a", provider="p", base_url="https://x.test/v1/", max_tokens=10)


def test_the_base_url_of_a_credential_overrides_that_of_the_model() -> None:
    assert Call(model=MODEL, messages=()).base_url == "https://x.test/v1"
    assert (
        Call(model=MODEL, messages=(), access=Access(base_url="https://y.test/")).base_url
        == "https://y.test"
    )


def test_the_caller_can_lower_max_tokens() -> None:
    assert Call(model=MODEL, messages=()).max_tokens == 10
    assert Call(model=MODEL, messages=(), options=StreamOptions(max_tokens=3)).max_tokens == 3


def test_the_sampling_parameters_of_the_caller_override_those_of_the_model() -> None:
    model = replace(MODEL, sampling_params={"top_p": 0.5, "top_k": 1})

    assert Call(model=MODEL, messages=()).sampling == {}
    assert Call(
        model=model, messages=(), options=StreamOptions(sampling_params={"top_k": 2})
    ).sampling == {"top_p": 0.5, "top_k": 2}


def test_no_session_is_sent_if_caching_is_off() -> None:
    with_cache, without_cache = (
        Call(
            model=MODEL,
            messages=(),
            options=StreamOptions(session_id="S", cache_retention=retention),
        )
        for retention in ("short", "none")
    )

    assert (with_cache.cached_session, without_cache.cached_session) == ("S", None)


PEEK: Json = {"type": "tool", "name": "peek"}


@pytest.mark.behaviour("no-tools-no-tool-fields")
@pytest.mark.parametrize(
    ("choice", "possible"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ({"type": "any"}, {"type": "any"}),
        (PEEK, PEEK),
        ({"type": "tool", "name": "gone"}, None),
        ({"type": "tool"}, None),
    ],
)
def test_a_tool_choice_is_kept_unless_it_forces_an_absent_tool(
    choice: ToolChoice | None, possible: ToolChoice | None
) -> None:
    assert valid_tool_choice(choice, ("peek",)) == possible
    assert valid_tool_choice(choice, ()) is None
