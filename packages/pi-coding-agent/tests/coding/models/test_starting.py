"""The model that a session starts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.models.registry import full_name
from pi.coding.models.starting import ModelPreferences, StartingModel, UnknownModel, starting_model
from tests.coding.models.catalogue import registry
from tests.coding.runtime.session_fixture import SessionFixture


def start(preferences: ModelPreferences, *usable: str) -> StartingModel:
    return starting_model(preferences, registry(*usable))


def name(preferences: ModelPreferences, *usable: str) -> str | None:
    model = start(preferences, *usable).model
    return full_name(model) if model else None


def test_a_pattern_of_the_command_line_overrides_scope_and_session() -> None:
    preferences = ModelPreferences(
        pattern="gpt-5:low", scope=("anthropic/*",), session=("anthropic", "claude-opus-4-6")
    )
    begun = start(preferences, "anthropic", "openai")

    assert (begun.model and begun.model.id, begun.thinking) == ("gpt-5", "low")
    assert len(begun.scope) == 3


def test_an_explicit_level_beats_the_suffix_and_is_clamped() -> None:
    assert (
        start(ModelPreferences(pattern="gpt-5:low", thinking="high"), "openai").thinking == "high"
    )
    assert (
        start(ModelPreferences(pattern="gpt-5-mini", thinking="high"), "openai").thinking == "off"
    )


@pytest.mark.behaviour("resume-restores-and-adds-nothing")
def test_a_resumed_session_keeps_its_model_and_level() -> None:
    preferences = ModelPreferences(
        session=("anthropic", "claude-sonnet-4-5"), session_thinking="low", scope=("openai/*",)
    )
    begun = start(preferences, "anthropic", "openai")

    assert (begun.model and begun.model.id, begun.thinking) == ("claude-sonnet-4-5", "low")


def test_a_missing_model_of_a_session_is_reported() -> None:
    begun = start(ModelPreferences(session=("old", "model")), "openai")

    gone = (
        "The session's model old/model is not available here:"
        " no provider, models.json or loaded extension has it."
    )
    assert begun.note == f"{gone} Using openai/gpt-5."
    alone = start(ModelPreferences(session=("old", "model")))
    assert alone.note == f"{gone} Choose another one with /model or --model."


def test_a_new_session_starts_with_the_first_of_its_scope() -> None:
    preferences = ModelPreferences(
        scope=("openai/*mini*",), default=("anthropic", "claude-opus-4-6")
    )

    assert name(preferences, "openai", "anthropic") == "openai/gpt-5-mini"


def test_a_scope_without_matching_models_is_reported() -> None:
    begun = start(ModelPreferences(scope=("zzz", "yyy/*")), "openai")

    assert begun.note == "No available model matches zzz, yyy/*. Using openai/gpt-5."
    assert start(ModelPreferences(scope=("zzz", "gpt-5")), "openai").note == ""


def test_an_unknown_model_of_a_gateway_without_credentials_has_a_login_hint(tmp_path: Path) -> None:
    closed = SessionFixture(tmp_path / "closed", environ={}).registry
    opened = SessionFixture(tmp_path / "opened", environ={"KILO_API_KEY": "k"}).registry

    with pytest.raises(UnknownModel) as locked:
        starting_model(ModelPreferences(pattern="kilo/balanced"), closed)
    with pytest.raises(UnknownModel) as unknown:
        starting_model(ModelPreferences(pattern="kilo/balanced"), opened)

    assert locked.value.hint == ("Kilo Gateway lists its models after login: `pi auth login kilo`.")
    assert "credentials" not in unknown.value.hint


@pytest.mark.behaviour("start-without-a-key")
def test_a_saved_default_without_credentials_is_skipped() -> None:
    preferences = ModelPreferences(default=("anthropic", "claude-sonnet-4-5"))

    assert name(preferences, "openai") == "openai/gpt-5"
    assert name(preferences, "anthropic") == "anthropic/claude-sonnet-4-5"


@pytest.mark.behaviour("start-without-a-key")
def test_without_any_key_there_is_no_model_and_no_error() -> None:
    assert name(ModelPreferences()) is None


def test_a_configured_level_for_a_single_model_is_used() -> None:
    preferences = ModelPreferences(pattern="gpt-5", model_thinking={"openai/gpt-5": "high"})

    assert start(preferences, "openai").thinking == "high"


def test_an_unknown_model_or_provider_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(UnknownModel) as model:
        start(ModelPreferences(pattern="gtp-5"))
    with pytest.raises(UnknownModel) as provider:
        start(ModelPreferences(provider="antropic"))

    assert (model.value.message, model.value.hint) == (
        'Model "gtp-5" not found. Use --list-models to see available models.',
        "Did you mean gpt-5?",
    )
    assert (provider.value.message, provider.value.hint) == (
        'Unknown provider "antropic". Use --list-models to see available providers/models.',
        "Did you mean anthropic?",
    )


def test_a_misspelt_part_of_a_model_name_has_a_suggestion() -> None:
    with pytest.raises(UnknownModel) as error:
        start(ModelPreferences(pattern="cluade"))

    assert error.value.hint == "Did you mean claude?"


def test_a_provider_alone_selects_its_default_model() -> None:
    assert name(ModelPreferences(provider="anthropic")) == "anthropic/claude-opus-4-6"


def test_a_name_of_several_providers_means_the_only_one_with_credentials() -> None:
    assert name(ModelPreferences(pattern="llama-9"), "beta") == "beta/llama-9"


@pytest.mark.parametrize(
    ("usable", "candidates"),
    [
        (("alpha", "beta"), "alpha/llama-9, beta/llama-9. There are credentials for several"),
        ((), "alpha/llama-9, beta/llama-9. There are credentials for none"),
    ],
)
def test_otherwise_it_is_ambiguous(usable: tuple[str, ...], candidates: str) -> None:
    for pattern in ("llama-9", "llama", "llama-9:high"):
        with pytest.raises(UnknownModel) as error:
            start(ModelPreferences(pattern=pattern), *usable)
        assert f'Model "{pattern}" is ambiguous: {candidates}' in error.value.message


def test_a_name_with_its_provider_and_a_name_of_its_maker_are_not_ambiguous() -> None:
    assert name(ModelPreferences(pattern="beta/llama-9"), "alpha", "beta") == "beta/llama-9"
    by_provider = ModelPreferences(pattern="llama-9", provider="beta")
    assert name(by_provider, "alpha", "beta") == "beta/llama-9"
    assert name(ModelPreferences(pattern="gpt-5"), "azure", "openai") == "openai/gpt-5"


def test_a_scope_has_a_model_of_every_provider() -> None:
    begun = start(ModelPreferences(scope=("llama-9:low", "beta/llama-9")), "alpha", "beta")
    assert [(full_name(c.model), c.thinking) for c in begun.scope] == [
        ("alpha/llama-9", "low"),
        ("beta/llama-9", "low"),
    ]
