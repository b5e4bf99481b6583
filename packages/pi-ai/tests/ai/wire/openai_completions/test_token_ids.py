"""Token ids and log-probabilities of a stream."""

from __future__ import annotations

from typing import Any

import pytest

from pi.ai.request import TokenIds
from pi.ai.wire.openai_completions.token_ids import TokenIdCollector


def reported(*rows: tuple[Any, Any]) -> list[TokenIds]:
    """What a collector reports after these fields of choices."""
    collector, reports = TokenIdCollector(), list[TokenIds]()
    for ids, logprobs in rows:
        collector.add(ids, logprobs)
    collector.report("r1", reports.append)
    return reports


def test_probabilities_are_reported_if_there_is_one_for_each_token() -> None:
    [complete] = reported(([1, 2], {"content": [{"logprob": -0.5}, {"logprob": -1}]}))
    [partial] = reported(([1, 2], {"content": [{"logprob": -0.5}]}))

    assert (list(complete.completion), list(complete.logprobs)) == ([1, 2], [-0.5, -1])
    assert not partial.logprobs


@pytest.mark.parametrize("content", [True, 7, "x", None, {"logprob": 1}, [1, None]])
def test_other_forms_of_probabilities_are_ignored(content: Any) -> None:
    [ids] = reported(([1], {"content": content}))

    assert not ids.logprobs
