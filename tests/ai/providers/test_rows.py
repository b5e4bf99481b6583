from __future__ import annotations

from pi.ai.models.catalog import bundled_models, bundled_providers
from pi.ai.providers.rows import BUILT_IN

DYNAMIC = {"radius"}
"""Their list comes from the provider itself."""


def test_every_provider_of_the_catalog_has_a_row_and_every_row_its_models() -> None:
    assert {row.id for row in BUILT_IN} == {*bundled_providers(), *DYNAMIC}
    assert len(BUILT_IN) == len({row.id for row in BUILT_IN}) == 41


def test_every_default_model_exists() -> None:
    missing = [
        row.id
        for row in BUILT_IN
        if row.id not in DYNAMIC
        and row.default_model not in {model.id for model in bundled_models(row.id)}
    ]

    assert missing == []


def test_every_provider_can_be_opened_somehow() -> None:
    closed = [
        row.id
        for row in BUILT_IN
        if not (row.key_variables or row.token_variables or row.login or row.ambient)
    ]

    assert closed == []
