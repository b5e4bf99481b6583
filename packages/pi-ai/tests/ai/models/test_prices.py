from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.messages import Json, Usage
from pi.ai.models.model import ModelCost, PriceTier
from pi.ai.models.prices import billed_cost, priced

PRICES = ModelCost(input=1, output=2, tiers=(PriceTier(input_tokens_above=1000, input=3),))


@pytest.mark.parametrize(
    ("counts", "cost"),
    [
        ({"cost": 0.25}, 0.25),
        ({"cost": 0}, 0),
        ({"cost": "0.25"}, None),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": float("inf")}, None),
        ({}, None),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, 0.21),
        ({"cost": 0.2, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 0.2),
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 0.2}}, 0.2),
        ({"cost": 0, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}}, 0),
        ({"cost": 0.2, "cost_details": {"upstream_inference_cost": None}}, 0.2),
        ({"cost": 0.2, "cost_details": 7}, 0.2),
    ],
)
def test_a_billed_cost_includes_what_the_users_own_key_pays_elsewhere(
    counts: Json, cost: float | None
) -> None:
    assert billed_cost(counts) == (None if cost is None else pytest.approx(cost))


def test_a_billed_cost_counts_over_the_prices_of_the_catalog_and_is_marked() -> None:
    usage = Usage(input=1000, output=100)

    assert priced(usage, PRICES).cost.total == pytest.approx(0.0012)
    assert priced(usage, PRICES).cost.total_from_provider is False
    assert priced(Usage(), PRICES).cost.total_from_provider is UNSET
    billed = priced(usage, PRICES, charged=0.5).cost
    assert (billed.total, billed.total_from_provider) == (0.5, True)
    assert billed.input == pytest.approx(0.001)
    estimated = priced(usage, PRICES, charged=0.5, billed=False).cost
    assert (estimated.total, estimated.total_from_provider) == (0.5, False)


def test_a_prompt_above_the_threshold_of_a_tier_has_its_rates() -> None:
    assert priced(Usage(input=1001), PRICES).cost.total == pytest.approx(0.003003)
