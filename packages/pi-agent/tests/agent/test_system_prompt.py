from __future__ import annotations

import logging

import pytest

from pi.agent.harness.harness import SystemPrompt, SystemPromptPolicy
from pi.agent.policy import Boundary
from tests.agent.agents import AgentFixture


def test_sections_are_ordered_by_when_they_were_first_set() -> None:
    prompt = SystemPrompt({"preamble": "You help.", "rules": lambda: None})
    prompt.set("cwd", lambda: "<cwd>\n/somewhere\n</cwd>")
    prompt.set("preamble", lambda: "You help a lot.")

    assert prompt.render() == "You help a lot.\n\n<cwd>\n/somewhere\n</cwd>"
    assert list(prompt.sections()) == ["preamble", "cwd"]


def test_a_section_without_text_is_left_out_and_a_section_can_be_removed() -> None:
    rules = ["Be brief."]
    prompt = SystemPrompt({"rules": lambda: "\n".join(rules), "end": "End."})

    before = prompt.render()
    rules.clear()

    assert (before, prompt.render()) == ("Be brief.\n\nEnd.", "End.")
    prompt.remove("end")
    prompt.remove("unknown")
    assert prompt.render() == ""


def test_a_section_that_fails_keeps_the_text_that_it_had(
    caplog: pytest.LogCaptureFixture,
) -> None:
    facts = {"branch": "main"}
    prompt = SystemPrompt({"git": lambda: facts["branch"]})
    before = prompt.render()
    facts.clear()

    with caplog.at_level(logging.ERROR):
        after = [prompt.render(), prompt.render()]

    assert (before, after) == ("main", ["main", "main"])
    assert "section git of the system prompt failed" in caplog.text


async def test_the_prompt_is_rendered_at_the_start_of_a_run_only() -> None:
    agent = AgentFixture().agent
    count = 0

    def counted() -> str:
        nonlocal count
        count += 1
        return f"Version {count}."

    policy = SystemPromptPolicy(agent, SystemPrompt({"preamble": counted}))
    for kind in ("prompt", "turn", "turn", "settle"):
        await policy.at_boundary(Boundary(kind=kind))

    assert agent.system_prompt == "Version 1."
