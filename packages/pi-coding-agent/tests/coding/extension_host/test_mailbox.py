from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi.ai.events import BlockEvent, TextDelta, TextStart, ThinkingDelta
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.events.updates import merge_update
from tests.coding.extension_host.extension_session import extension_session

deltas = st.builds(
    lambda kind, index, text: kind(content_index=index, delta=text),
    st.sampled_from([TextDelta, ThinkingDelta]),
    st.integers(0, 2),
    st.text(max_size=3),
)


@given(st.lists(deltas, max_size=20))
def test_merging_keeps_all_text_and_joins_adjacent_deltas_of_a_block(
    events: list[Any],
) -> None:
    waiting: list[BlockEvent] = []
    for event in events:
        merge_update(waiting, event)

    def texts(events: list[Any]) -> dict[Any, str]:
        joined: dict[Any, str] = {}
        for event in events:
            key = (type(event), event.content_index)
            joined[key] = joined.get(key, "") + event.delta
        return joined

    assert texts(waiting) == texts(events)
    kinds = [(type(event), event.content_index) for event in waiting]
    assert all(one != other for one, other in pairwise(kinds))


async def test_a_slow_handler_gets_merged_tokens_and_all_of_them_before_the_end(
    tmp_path: Path,
) -> None:
    texts: list[str] = []
    ends: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_update")
        async def slow(event: Any, ctx: Any) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            delta = event.assistant_message_event
            if isinstance(delta, TextDelta):
                texts.append(delta.delta)

        pi.on("agent_end", lambda event, ctx: ends.append("".join(texts)))

    answer = "one two three four five six seven eight"
    async with extension_session(tmp_path, extension, steps=(says(answer),)) as hosted:
        await hosted.session.prompt("go")

    assert ends == [answer]
    assert len(texts) < len(answer.split())


async def test_a_quick_handler_sees_every_token_and_the_answer_so_far(tmp_path: Path) -> None:
    seen: list[str] = []
    started: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("message_update")
        def quick(event: Any, ctx: Any) -> None:
            if isinstance(event.assistant_message_event, TextStart):
                started.append(event)
            if isinstance(event.assistant_message_event, TextDelta):
                seen.append(event.message.content[0].text)

        @pi.on("message_update")
        def broken(event: Any, ctx: Any) -> None:
            raise ValueError("no")

    async with extension_session(tmp_path, extension, steps=(says("a b"),)) as hosted:
        await hosted.session.prompt("go")
        await asyncio.sleep(0)

        assert set(hosted.failures) == {"message_update: no"}
    assert (len(started), seen[-1]) == (1, "a b")
