from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.wire.openai_responses.tools import Compat, read_compat
from tests.ai.wire.openai_responses.talk import model


def test_without_flags_a_server_is_taken_for_openais() -> None:
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
def test_a_server_with_strict_mode_learns_which_tools_are_not_strict() -> None:
    compat = read_compat(model({"supportsStrictMode": True}))

    assert compat == Compat(supports_strict_mode=True, loose_tools=False)


def test_xai_is_known_by_its_address_unless_the_model_says_otherwise() -> None:
    address = "https://api.x.ai/v1"

    assert read_compat(model(base_url=address)) == Compat(thinks_unasked=True)
    assert read_compat(model({"thinksUnasked": False}, base_url=address)) == Compat()


def test_a_flag_of_the_wrong_type_says_where_it_is() -> None:
    with pytest.raises(BadRequest, match=r"'m' cannot be read.*supportsStrictMode") as problem:
        read_compat(model({"supportsStrictMode": "yes"}))

    assert "models.json" in problem.value.hint
