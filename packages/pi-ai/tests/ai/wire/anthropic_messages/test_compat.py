from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.wire.anthropic_messages.compat import Compat, Fallback, compat_of
from pi.base.records import replace
from tests.ai.wire.anthropic_messages.talk import IN_PLACE, call, model


def test_flags_are_read_and_unknown_ones_ignored() -> None:
    flags = {
        "supportsTemperature": False,
        "supportsStore": True,
        "allowedFallbackModels": [{"model": "b", "provider": "p", "cost": {"input": 5}}],
    }

    assert compat_of(call(model=model(flags))) == Compat(
        supports_temperature=False, allowed_fallback_models=(Fallback(model="b"),)
    )


def test_a_flag_of_the_wrong_type_raises_with_model_and_flag() -> None:
    with pytest.raises(BadRequest, match=r"model 'm' .*supportsTemperature") as caught:
        compat_of(call(model=model({"supportsTemperature": "no"})))

    assert caught.value.hint == "Correct the model's compat in models.json."


@pytest.mark.parametrize(
    ("base_url", "flags", "header"),
    [
        ("https://api.anthropic.com", {}, None),
        ("https://api.anthropic.com", {"sendSessionAffinityHeaders": True}, "x-session-affinity"),
        ("https://openrouter.ai/api", {}, "x-session-id"),
        ("https://eu.openrouter.ai/api", {}, "x-session-id"),
        ("https://openrouter.ai/api", {"sendSessionAffinityHeaders": False}, None),
        ("https://notopenrouter.ai/api", {}, None),
        ("https://proxy.example", {"sessionAffinityFormat": "openrouter"}, "x-session-id"),
    ],
)
def test_the_session_header_follows_flags_and_host(
    base_url: str, flags: dict[str, object], header: str | None
) -> None:
    assert compat_of(call(model=model(flags, base_url=base_url))).session_header == header


def test_tools_change_in_place_only_if_later_system_messages_are_supported() -> None:
    both = compat_of(call(model=model(IN_PLACE)))

    assert both.changes_tools_in_place
    assert not replace(both, supports_mid_convo_system_messages=False).changes_tools_in_place
