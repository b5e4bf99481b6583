from __future__ import annotations

from pi.coding.runtime.parts import Parts
from pi.coding.session.opening import new_session


def test_whoever_gives_nothing_has_everything_discovered_and_a_new_session_kept() -> None:
    parts = Parts()

    assert (parts.registry, parts.settings, parts.model) == (None, None, None)
    assert parts.open_log is new_session
    assert parts.persistent
