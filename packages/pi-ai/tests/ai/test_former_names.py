from __future__ import annotations

from pi.ai.former_names import (
    FORMER,
    current_name,
    names_used,
    with_current_names,
    with_names_of,
)
from pi.ai.providers.rows import BUILT_IN


def test_only_the_current_ids_have_rows() -> None:
    ids = {row.id for row in BUILT_IN}

    assert FORMER.keys() & ids == set()
    assert set(FORMER.values()) <= ids


def test_former_ids_of_providers_and_in_model_names_become_current_ones() -> None:
    assert current_name("azure-openai-responses") == "azure"
    assert current_name("azure-openai-responses/a/b:high") == "azure/a/b:high"
    assert current_name("azure-openai-responses-2/a") == "azure-openai-responses-2/a"
    assert names_used("azure-openai-responses") == names_used("azure")
    assert names_used("openai") == ("openai",)
    before = {"azure-openai-responses/a": "high", "x": ["azure-openai-responses", 1, None]}
    assert with_current_names(before) == {"azure/a": "high", "x": ["azure", 1, None]}


def test_a_new_value_has_the_names_of_the_one_that_it_replaces() -> None:
    assert with_names_of("azure", "openai") == "azure"
    assert with_names_of("azure", "azure-openai-responses") == "azure-openai-responses"
    assert with_names_of(["azure/a", "b"], {"x": "azure-openai-responses/c"}) == [
        "azure-openai-responses/a",
        "b",
    ]
