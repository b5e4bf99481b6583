from __future__ import annotations

from pi.agent.compaction.errors import CompactionError, CompactionFailed


def test_a_failure_is_an_error_with_a_code_and_a_value_for_protocols() -> None:
    failed = CompactionFailed("too_large", "It does not fit.", hint="Take a larger model.")

    assert failed.code == "too_large"
    assert failed.error == CompactionError(code="too_large", message="It does not fit.")
    assert failed.explain() == "It does not fit. Take a larger model."
