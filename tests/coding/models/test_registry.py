"""Look-ups over the models of a session."""

from __future__ import annotations

from tests.coding.models.catalogue import registry


def test_only_models_with_credentials_are_available() -> None:
    models = registry("openai")

    assert {model.provider for model in models.get_available()} == {"openai"}
    assert len(models.get_all()) == 8
    assert (models.has_auth("openai"), models.has_auth("azure")) == (True, False)


def test_a_provider_is_known_for_one_model_or_has_a_first() -> None:
    models = registry()
    defaults = [models.default_of(name) for name in ("anthropic", "openrouter", "nobody")]

    assert [model and model.id for model in defaults] == [
        "claude-opus-4-6",
        "anthropic/claude-opus-4-6",
        None,
    ]


def test_names_patterns_and_scopes_are_resolved() -> None:
    models = registry("openai")
    found, resolved = models.find("openai", "gpt-5"), models.resolve("mini", "openai")

    assert found is not None
    assert resolved is not None
    assert resolved.model.id == "gpt-5-mini"
    assert [choice.model.id for choice in models.scope(["gpt-*"])] == ["gpt-5", "gpt-5-mini"]


async def test_asking_servers_on_this_machine_tells_whether_it_helped() -> None:
    assert not await registry("openai").discover_local()
