from __future__ import annotations

from pi.ai.messages import Cost, Usage, add_usage


def test_every_number_is_added() -> None:
    one = Usage(
        input=60,
        output=20,
        cache_read=40,
        cache_write=1,
        reasoning=5,
        total_tokens=120,
        cost=Cost(input=1, output=2, cache_read=3, cache_write=4, total=10),
    )

    assert add_usage(one, one) == Usage(
        input=120,
        output=40,
        cache_read=80,
        cache_write=2,
        reasoning=10,
        total_tokens=240,
        cost=Cost(input=2, output=4, cache_read=6, cache_write=8, total=20),
    )


def test_a_field_of_only_one_usage_is_kept_and_a_missing_field_remains_unset() -> None:
    assert add_usage(Usage(), Usage(cache_write_1h=3)) == Usage(cache_write_1h=3)
    assert add_usage(Usage(reasoning=2), Usage()) == Usage(reasoning=2)
