"""The compaction contract over all strategies: what was planted survives, whatever models write.

Every answer of the model is useless, the documents and summaries included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.providers.faux import Reply, calls, says
from pi.batteries.handoff.adapter import extension as handoff
from pi.batteries.snapcompact.adapter import extension as snapcompact
from pi.coding.session.context import convert_to_llm
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.sampling import sampled

FIRST = "Please build the harbour wall described in plan seven."
INSTRUCTION = "Always write dates as 2026-11-16 and never touch vendor/."
TASK = "repair the lantern at pier four"
FILE = "src/quay/mooring.py"
NEXT = "Next I will run the tide table tests."
LATEST = "And mind the fog."
PLANTED = (FIRST, INSTRUCTION, TASK, FILE, NEXT, LATEST)
USELESS = "The work went on and came to an end, as far as can be said here."


def shown(hosted: ExtensionFixture) -> str:
    messages = convert_to_llm(hosted.session.messages)
    texts = [msgspec.json.encode(message).decode() for message in messages]
    return "\n".join(texts).replace("\\n", "\n")


async def say(hosted: ExtensionFixture, text: str, *replies: Reply) -> None:
    hosted.fixture.provider.add(*replies)
    await hosted.session.prompt(text)


async def filler(hosted: ExtensionFixture, count: int, tag: str) -> None:
    for n in range(count):
        await say(hosted, f"{tag} {n} " + "f" * 6000, says("g" * 6000))


async def compact(hosted: ExtensionFixture, strategy: str) -> None:
    hosted.fixture.provider.add(*(says(USELESS) for _ in range(4)))
    await hosted.session.compact(strategy=strategy)
    await hosted.session.runs.when_idle.held()
    hosted.fixture.provider._steps.clear()  # responses that the strategy did not request


@pytest.mark.behaviour("instructions-survive-compaction")
@pytest.mark.parametrize(
    ("strategy", "settings"),
    sampled(
        [
            ("context-full", {}),
            ("shake", {}),
            ("snapcompact", {}),
            ("handoff", {}),
            ("handoff", {"handoff": {"place": "here"}}),
        ],
        keep=2,
    ),
    ids=["context-full", "shake", "snapcompact", "handoff", "handoff here"],
)
async def test_planted_facts_survive_one_two_and_five_compactions(
    tmp_path: Path, strategy: str, settings: dict[str, Any]
) -> None:
    options = {"compaction": {"enabled": False, "keepRecentTokens": 3000}, **settings}
    async with extension_session(tmp_path, handoff, snapcompact, settings=options) as hosted:
        (hosted.fixture.cwd / "src/quay").mkdir(parents=True)
        await say(hosted, FIRST, says("I will."))
        await say(hosted, INSTRUCTION, says("Noted."))
        await say(hosted, f"There is more to do:\n- [ ] {TASK}", says("I will see to it."))
        await say(hosted, "go on", calls("write", path=FILE, content="x"), says("Changed."))
        if strategy == "shake":  # it needs large results, which it replaces
            (hosted.fixture.cwd / "big.txt").write_text("line\n" * 4000)
            for _ in range(3):
                await say(hosted, "read", calls("read", path="big.txt"), says("read"))
        for n in range(5):
            await filler(hosted, 9 if strategy == "shake" else 3, f"round {n}")
            if strategy == "shake":
                await say(hosted, "more", calls("bash", command="seq 9000"), says("read"))
                await filler(hosted, 14, f"again {n}")
            await say(hosted, LATEST, says(NEXT))
            await compact(hosted, strategy)
            if n in (0, 1, 4):
                text = shown(hosted)
                assert [each for each in PLANTED if each not in text] == []
        assert hosted.failures == []
