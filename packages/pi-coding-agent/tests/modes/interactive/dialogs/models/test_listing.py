"""Which models are listed where."""

from __future__ import annotations

from pi.ai.models.model import ModelCost
from pi.ai.providers.rows import BUILT_IN as PROVIDERS
from pi.base.records import replace
from pi.modes.interactive.dialogs.model_catalogue import (
    ALL,
    WITHOUT_KEY,
    known_models,
    price,
    window,
)
from tests.modes.interactive.dialogs.models.samples import GPT, GROK, HAIKU, SONNET, model

KNOWN = known_models(
    (SONNET, HAIKU, GPT, GROK),
    (SONNET, HAIKU, GPT),
    current=GPT,
    default=("xai", "grok-5"),
    scope=(SONNET,),
)


def test_every_provider_with_credentials_has_a_tab() -> None:
    assert KNOWN.tabs() == (ALL, "anthropic", "openai", WITHOUT_KEY)
    assert known_models((GPT,), (GPT,), current=None).tabs() == (ALL, "openai")
    assert known_models((), (), current=None).tabs() == (ALL,)


def test_every_tab_lists_its_models() -> None:
    assert KNOWN.under(ALL) == [GPT, SONNET, HAIKU]
    assert KNOWN.under("anthropic") == [SONNET, HAIKU]
    assert KNOWN.under(WITHOUT_KEY) == [GROK]
    assert KNOWN.under(ALL, "haiku") == [HAIKU]


def test_badges_show_the_properties_of_a_model() -> None:
    assert [KNOWN.badges(model) for model in (SONNET, HAIKU, GPT, GROK)] == [
        ("scoped", "thinks"),
        ("sees",),
        ("current",),
        ("default", "no key"),
    ]


def test_windows_are_reported_in_short() -> None:
    assert [window(n) for n in (8192, 200_000, 1_000_000, 1_050_000)] == [
        "8k",
        "200k",
        "1M",
        "1.1M",
    ]


def test_recommended_models_come_first_below_a_heading() -> None:
    row = next(row for row in PROVIDERS if row.id == "anthropic")
    opus = model(f"anthropic/{row.default_model}")
    catalogue = known_models((HAIKU, GPT, opus), (HAIKU, GPT, opus), current=GPT)

    assert catalogue.under(ALL) == [GPT, opus, HAIKU]
    assert [catalogue.group(model) for model in (GPT, opus, HAIKU)] == [
        *("Recommended", "Recommended", "anthropic")
    ]
    assert KNOWN.group(HAIKU) == ""


def test_prices_are_those_of_a_million_tokens() -> None:
    priced = replace(HAIKU, cost=ModelCost(input=0.25, output=2))

    assert (price(priced), price(HAIKU)) == ("$0.25/$2", "")
