from __future__ import annotations

import msgspec
import pytest

from pi.ai.messages import Usage
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    KnownEntry,
    Label,
    ModelChange,
    SessionHeader,
    SessionInfo,
    ThinkingLevelChange,
    UsageEntry,
)

BASE = '"id":"a","parentId":null,"timestamp":"t"'
ZERO = (
    '{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,'
    '"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}'
)

WRITTEN: list[tuple[KnownEntry, str]] = [
    (
        ModelChange(id="a", timestamp="t", provider="p", model_id="m"),
        f'{{"type":"model_change",{BASE},"provider":"p","modelId":"m"}}',
    ),
    (
        ThinkingLevelChange(id="a", timestamp="t", thinking_level="off"),
        f'{{"type":"thinking_level_change",{BASE},"thinkingLevel":"off"}}',
    ),
    (
        Compaction(id="a", timestamp="t", summary="s", first_kept_id="k", tokens_before=1),
        f'{{"type":"compaction",{BASE},"summary":"s","firstKeptEntryId":"k","tokensBefore":1}}',
    ),
    (
        BranchSummary(id="a", timestamp="t", from_id="f", summary="s", from_hook=False),
        f'{{"type":"branch_summary",{BASE},"fromId":"f","summary":"s","fromHook":false}}',
    ),
    (
        ContextEdit(id="a", timestamp="t", target_id="x", replacement=None),
        f'{{"type":"context_edit",{BASE},"targetId":"x","replacement":null}}',
    ),
    (Label(id="a", timestamp="t", target_id="x"), f'{{"type":"label",{BASE},"targetId":"x"}}'),
    (SessionInfo(id="a", timestamp="t"), f'{{"type":"session_info",{BASE}}}'),
    (
        UsageEntry(id="a", timestamp="t", kind="k", provider="p", model="m", usage=Usage()),
        f'{{"type":"usage",{BASE},"kind":"k","provider":"p","model":"m","usage":{ZERO}}}',
    ),
    (
        Custom(id="a", timestamp="t", custom_type="c", data=1),
        f'{{"type":"custom","customType":"c","data":1,{BASE}}}',
    ),
    (
        CustomMessageEntry(id="a", timestamp="t", custom_type="c", content="x"),
        f'{{"type":"custom_message","customType":"c","content":"x","display":true,{BASE}}}',
    ),
]


@pytest.mark.parametrize(("entry", "line"), WRITTEN, ids=lambda entry: type(entry).__name__)
def test_an_entry_is_written_with_its_keys_in_the_order_of_the_original(
    entry: KnownEntry, line: str
) -> None:
    assert msgspec.json.encode(entry).decode() == line
    assert msgspec.json.decode(line, type=KnownEntry) == entry


def test_a_header_without_a_parent_has_no_parent_field() -> None:
    header = SessionHeader(version=3, id="s", timestamp="t", cwd="/c")

    assert msgspec.json.encode(header).decode() == (
        '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/c"}'
    )
