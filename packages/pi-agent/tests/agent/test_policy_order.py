from __future__ import annotations

from pi.agent.harness.hooks import RankedPolicies
from pi.agent.policy import Policy
from tests.agent.agents import AgentFixture


def test_policies_are_asked_by_rank_and_then_in_the_order_of_registration() -> None:
    agent = AgentFixture().agent
    order = RankedPolicies(agent)
    last, one, two, first = (Policy() for _ in range(4))

    order.add(last, at="last")
    remove_one = order.add(one)
    order.add(two)
    order.add(first, at="first")

    all_of_them = agent.policies
    remove_one()

    assert all_of_them == (first, one, two, last)
    assert agent.policies == (first, two, last)


def test_a_policy_that_is_registered_twice_is_removed_once() -> None:
    agent = AgentFixture().agent
    order = RankedPolicies(agent)
    policy = Policy()

    order.add(policy)
    remove = order.add(policy, at="last")
    remove()

    assert agent.policies == (policy,)
