"""The compaction contract: essential content survives, whatever the model writes.

The scripted summariser returns a fixed sentence that mentions none of the planted facts.
"""

from __future__ import annotations

import random

import pytest

from pi.agent.tools.define import tool
from pi.base.records import replace
from pi.coding.compaction.request import CompactionRequest
from pi.testing import Reply, calls, says
from tests.coding.compaction.compaction_fixture import OPTIONS, SMALL, CompactionFixture, always
from tests.sampling import sampled

FIRST = "Please build the harbour wall described in plan seven."
INSTRUCTION = "Always write dates as 2026-11-16 and never touch vendor/."
TASK = "- [ ] repair the lantern at pier four"
FILE = "src/quay/mooring.py"
NEXT = "Next I will run the tide table tests."
LATEST = "And mind the fog."

ROOMY = replace(SMALL, context_window=40_000, max_tokens=4_000)
FILLER = "the sea was calm and grey that day " * 40


@tool
async def edit(path: str) -> str:
    """Change a file.

    Args:
        path: Which one.
    """
    return "done"


async def say(fixture: CompactionFixture, text: str, *replies: Reply) -> None:
    """Send one prompt; the model answers with these replies."""
    fixture.stream.add(*replies)
    await fixture.agent.prompt(text)


async def history(fixture: CompactionFixture, seed: int) -> None:
    """A long conversation with the planted facts at random places."""
    dice = random.Random(seed)
    planted = {
        dice.randrange(1, 28): (INSTRUCTION, [says("Noted.")]),
        dice.randrange(1, 28) + 28: (f"There is more to do:\n{TASK}", [says("I will see to it.")]),
        dice.randrange(1, 28) + 56: ("go on", [calls("edit", path=FILE), says("Changed.")]),
    }
    await say(fixture, FIRST, says("I will."))
    for n in range(1, 90):
        text, replies = planted.get(n, (f"{n} {FILLER}", [says(f"answer {n} {FILLER}")]))
        await say(fixture, text, *replies)
    await say(fixture, LATEST, says(NEXT))


@pytest.mark.behaviour("instructions-survive-compaction")
@pytest.mark.parametrize("seed", sampled(range(5), 2))
@pytest.mark.parametrize("times", sampled([1, 2, 5], keep=2))
async def test_essential_content_survives_repeated_compactions(seed: int, times: int) -> None:
    options = replace(OPTIONS, enabled=False, keep_recent_tokens=3_000)
    fixture = CompactionFixture(summaries=[always], options=options, model=ROOMY, tools=[edit])
    await history(fixture, seed)
    for n in range(times):
        await fixture.compactor.compact(CompactionRequest(reason="manual"))
        assert_survived(fixture)
        if n < times - 1:
            for more in range(12):
                await say(fixture, f"later {n}.{more} {FILLER}", says(f"and {FILLER}"))
            await say(fixture, LATEST, says(NEXT))


def assert_survived(fixture: CompactionFixture) -> None:
    context = fixture.shown.replace("\\n", "\n")
    for planted in (FIRST, INSTRUCTION, "repair the lantern at pier four", FILE, NEXT, LATEST):
        assert planted in context, planted


async def test_an_instruction_in_a_huge_message_survives_although_almost_nothing_is_kept() -> None:
    options = replace(OPTIONS, enabled=False, keep_recent_tokens=300)
    fixture = CompactionFixture(summaries=[always], options=options, model=ROOMY)
    await say(fixture, f"{FILLER * 5}.\nAlways answer in French.\n{FILLER * 5}", says("Oui."))
    for n in range(3):
        await say(fixture, f"{n} {FILLER}", says(f"answer {n} {FILLER}"))

    for _ in range(2):
        await fixture.compactor.compact(CompactionRequest(reason="manual"))
        assert "- Always answer in French. [entry://" in fixture.shown
        await say(fixture, FILLER, says(FILLER))
