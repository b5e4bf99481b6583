from __future__ import annotations

from pi.coding.extension_host.control import Cancelled, HostedSession, SessionControl
from pi.coding.runtime.hosted_control import HostedControl


def members(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_everything_that_needs_rest_is_there() -> None:
    assert members(SessionControl) <= members(HostedControl)
    assert Cancelled(cancelled=True).cancelled


def test_a_session_is_made_of_parts() -> None:
    parts = {"place", "talk", "runs", "models", "tools", "facts", "events", "control"}

    assert members(HostedSession) == parts
