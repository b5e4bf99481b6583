from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Cost, Usage
from pi.ai.models.model import ModelCost, PriceTier
from pi.ai.models.prices import priced

PRICES = ModelCost(
    input=1,
    output=2,
    cache_read=0.5,
    cache_write=1.25,
    tiers=(
        PriceTier(input_tokens_above=1000, input=10, output=20, cache_read=5, cache_write=12.5),
        PriceTier(input_tokens_above=9000, input=100, output=200),
    ),
)


def test_tokens_are_priced_per_million_and_added_up() -> None:
    usage = Usage(input=100, output=200, cache_read=400, cache_write=80)

    assert priced(usage, PRICES) == Usage(
        input=100,
        output=200,
        cache_read=400,
        cache_write=80,
        reasoning=0,
        total_tokens=780,
        cost=Cost(
            input=100e-6,
            output=400e-6,
            cache_read=200e-6,
            cache_write=100e-6,
            total=800e-6,
            total_from_provider=False,
        ),
    )


@pytest.mark.behaviour("costs-follow-the-tier")
def test_the_cost_depends_on_cache_duration_tier_service_and_reported_charge() -> None:
    an_hour = Usage(cache_write=300, cache_write_1h=200)
    assert priced(an_hour, PRICES).cost.cache_write == pytest.approx((100 * 1.25 + 200 * 2) / 1e6)

    long_prompt = Usage(input=500, cache_read=600, output=10)
    assert priced(long_prompt, PRICES).cost.input == pytest.approx(500 * 10 / 1e6)
    assert priced(long_prompt, PRICES).cost.output == pytest.approx(10 * 20 / 1e6)
    assert priced(Usage(input=9001), PRICES).cost.input == pytest.approx(9001 * 100 / 1e6)

    assert priced(Usage(input=100), PRICES, factor=0.5).cost.total == pytest.approx(50e-6)
    assert priced(Usage(input=100), PRICES, charged=0.25).cost.total == 0.25


@pytest.mark.behaviour("usage-is-not-erased")
@given(
    st.builds(
        Usage,
        input=st.integers(0, 10**9),
        output=st.integers(0, 10**9),
        cache_read=st.integers(0, 10**9),
        cache_write=st.integers(0, 10**9),
    )
)
def test_the_cost_is_never_negative(usage: Usage) -> None:
    cost = priced(usage, PRICES).cost

    assert min(cost.input, cost.output, cost.cache_read, cost.cache_write, cost.total) >= 0
