from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.wire.openai_responses.compat import Compat, read_compat
from tests.ai.wire.openai_responses.talk import model


def test_without_flags_a_server_gets_the_defaults_of_openai() -> None:
    assert read_compat(model()) == Compat()


def test_flags_of_the_model_are_read_and_unknown_or_null_ones_ignored() -> None:
    flags = {
        "supportsOpenAIGrammarTools": True,
        "supportsDeveloperRole": None,
        "sessionAffinityFormat": "openrouter",
        "zaiToolStream": True,
    }

    assert read_compat(model(flags)) == Compat(
        supports_grammar_tools=True, session_affinity_format="openrouter"
    )


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_a_server_with_strict_mode_gets_strict_false_for_loose_tools() -> None:
    compat = read_compat(model({"supportsStrictMode": True}))

    assert compat == Compat(supports_strict_mode=True, loose_tools=False)


def test_xai_is_recognised_by_its_base_url_unless_a_flag_overrides_it() -> None:
    address = "https://api.x.ai/v1"

    assert read_compat(model(base_url=address)) == Compat(thinks_unasked=True)
    assert read_compat(model({"thinksUnasked": False}, base_url=address)) == Compat()


def test_a_flag_of_the_wrong_type_raises_with_model_and_flag() -> None:
    with pytest.raises(BadRequest, match=r"'m' cannot be read.*supportsStrictMode") as problem:
        read_compat(model({"supportsStrictMode": "yes"}))

    assert "models.json" in problem.value.hint
