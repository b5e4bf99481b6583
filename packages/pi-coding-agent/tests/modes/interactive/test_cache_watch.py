from __future__ import annotations

from pi.agent.events import MessageEnd
from pi.ai.messages import AssistantMessage, Usage
from pi.coding.compaction.events import CompactionEnd
from pi.modes.interactive.cache_misses import CacheMissDetector


def answer(*, read: int = 0, write: int = 0, model: str = "m") -> MessageEnd:
    usage = Usage(input=10, cache_read=read, cache_write=write, total_tokens=10 + read + write)
    return MessageEnd(message=AssistantMessage(provider="p", model=model, usage=usage))


def test_a_miss_is_reported() -> None:
    watch = CacheMissDetector()
    assert watch.handle_event(answer(write=9000)) == ""
    assert watch.handle_event(answer(read=9000, write=500)) == ""
    assert watch.handle_event(answer(write=9800)) == (
        "Cache miss: 9,500 cached tokens were processed again."
    )


def test_small_or_expected_misses_are_not_reported() -> None:
    watch = CacheMissDetector()
    watch.handle_event(answer(write=3000))
    assert watch.handle_event(answer(write=9000)) == ""
    assert watch.handle_event(answer(read=6000)) == ""
    watch.handle_event(answer(read=6000, write=4000))
    assert watch.handle_event(answer(write=9000, model="other")) == ""


def test_no_cache_miss_is_reported_after_a_compaction() -> None:
    watch = CacheMissDetector()
    watch.handle_event(answer(write=9000))
    watch.handle_event(CompactionEnd(reason="manual", aborted=False, will_retry=False))
    assert watch.handle_event(answer(write=2000)) == ""
