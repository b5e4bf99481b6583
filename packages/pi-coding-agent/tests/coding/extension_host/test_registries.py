from __future__ import annotations

from pi.agent.policy import Policy
from pi.coding.bus import Owner
from pi.coding.extension_host.contributions.flags import ExtensionFlag
from pi.coding.extension_host.contributions.registries import RankedPolicy, Registries


def test_policies_are_listed_by_position_and_changes_are_reported() -> None:
    changes: list[str] = []
    registries = Registries(
        tools_changed=lambda: changes.append("tools"),
        policies_changed=lambda: changes.append("policies"),
    )
    me = Owner(name="me", path="/me.py")
    one, two = Policy(), Policy()
    registries.policies.add(RankedPolicy(policy=one, at="last"), me, "last")
    registries.policies.add(RankedPolicy(policy=two, at="first"), me, "first")

    assert registries.placed_policies() == ([two], [], [one])
    assert changes == ["policies", "policies"]


def test_names_that_are_registered_twice_are_listed() -> None:
    registries = Registries(tools_changed=lambda: None, policies_changed=lambda: None)
    one = Owner(name="a", path="/a.py", rank="user")
    two = Owner(name="b", path="/b.py", rank="explicit")
    flag = ExtensionFlag(name="x", kind="boolean")
    registries.flags.add("x", flag, one)
    registries.flags.add("x", flag, two)

    assert registries.hidden_names() == [("flag", "x", one, two)]
