"""Sessions for the tests of exports: one with every kind of entry, and one of any length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pi.ai.messages import (
    AssistantMessage,
    Cost,
    Image,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.base.records import replace
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    KnownEntry,
    Label,
    MessageEntry,
    ModelChange,
    SessionHeader,
    SessionInfo,
    SessionMessage,
    ThinkingLevelChange,
    UnknownEntry,
    UsageEntry,
)

SECRET = "correct horse battery staple"
HEADER = SessionHeader(
    version=3,
    id="01a1e0af-1052-7020-837a-679b51732bec",
    timestamp="2026-11-15T19:28:51.795Z",
    cwd="/home/ada/engine",
)

ONE_REQUEST = Usage(
    input=60,
    output=20,
    cache_read=40,
    total_tokens=120,
    cost=Cost(input=0.5, output=0.25, cache_read=0.25, total=1.0),
)

READ = Tool(
    name="read",
    description="Read a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)

ANSWER = """\
The loop adds one element too many. **Two things** to know:

1. `range(n)` already stops before `n`
2. the table below shows the cost

| size | before | after |
|:-----|-------:|------:|
| 10   | 0.2 ms | 0.1 ms |
| 1000 | 21 ms  | 9 ms  |

```python
def total(values: list[int]) -> int:
    # one pass, no copy
    return sum(value for value in values if value > 0)
```

> See [the documentation](https://docs.python.org/3/) and <b>mind the types</b>.
"""

DIFF = """\
  9 def total(values):
-10     for i in range(len(values) + 1):
+10     for value in values:
 11         result += value
    ..."""


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A picture of one point."""


def user_message(text: str, *images: Image) -> UserMessage:
    return UserMessage(content=(Text(text=text), *images))


def answered(*blocks: str | Thinking | ToolCall, usage: Usage = ONE_REQUEST) -> AssistantMessage:
    return AssistantMessage(
        content=tuple(Text(text=block) if isinstance(block, str) else block for block in blocks),
        provider="mock",
        model="mock-r",
        usage=usage,
    )


def called(id: str, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def came(
    id: str, name: str, text: str, *, details: object = None, is_error: bool = False
) -> ToolResultMessage:
    result = ToolResultMessage(
        tool_call_id=id, tool_name=name, content=(Text(text=text),), is_error=is_error
    )
    return result if details is None else replace(result, details=details)


def message(message: SessionMessage) -> MessageEntry:
    return MessageEntry(message=message)


def chain(
    drafts: Iterable[KnownEntry], *, after: str | None = None, first_number: int = 0
) -> list[Entry]:
    """The drafts one after the other, with ids ``e0``, ``e1``, …, a second apart."""
    entries: list[Entry] = []
    for number, draft in enumerate(drafts, start=first_number):
        time = f"2026-11-15T19:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        entries.append(replace(draft, id=f"e{number}", parent_id=after, timestamp=time))
        after = f"e{number}"
    return entries


def sample() -> list[Entry]:
    """A session with every kind of entry, two branches and a compaction."""
    trunk: Sequence[KnownEntry] = (
        ModelChange(provider="mock", model_id="mock-r"),
        ThinkingLevelChange(thinking_level="medium"),
        message(
            SystemMessage(
                content="", sections={"preamble": "You help with code."}, tools_added=(READ,)
            )
        ),
        message(
            user_message(
                "Why is `total` wrong?\nSee the picture.", Image(data=PNG, mime_type="image/png")
            )
        ),
        message(
            answered(
                Thinking(thinking="The loop runs **once too often**."),
                "I look at the file first.",
                called("c1", "read", path="src/engine.py", offset=1, limit=20),
                called("c2", "bash", command="pytest -q tests/test_engine.py"),
            )
        ),
        message(came("c1", "read", "def total(values):\n    result = 0\n    return result\n")),
        message(came("c2", "bash", "1 failed\n\nCommand exited with code 1", is_error=True)),
        message(
            answered(
                called("c3", "edit", path="src/engine.py", edits=[{"oldText": "a", "newText": "b"}])
            )
        ),
        message(came("c3", "edit", "Successfully replaced 1 block(s)", details={"diff": DIFF})),
        message(answered(ANSWER)),
        Label(target_id="e9", label="solved"),
        message(
            BashExecution(command="git status --short", output=" M src/engine.py\n", exit_code=0)
        ),
        Compaction(
            summary="## Goal\nMend `total`.",
            first_kept_id="e9",
            tokens_before=31420,
            usage=ONE_REQUEST,
        ),
        CustomMessageEntry(custom_type="todo", content="Write a *test*.", display=True),
        CustomMessageEntry(custom_type="hidden", content="Not for the screen.", display=False),
        Custom(custom_type="my-state", data={"count": 1}),
        UsageEntry(kind="cache_warm", provider="mock", model="mock-r", usage=ONE_REQUEST),
        ContextEdit(target_id="e6", replacement=None),
        SessionInfo(name="Mending the engine"),
        message(user_message("Thank you. Now make it *fast*.")),
        message(answered("It is fast now.")),
    )
    entries = chain(trunk)
    side = chain(
        (
            message(user_message("Or rewrite it in C?")),
            message(answered("Rather not: it would have to be built everywhere.")),
        ),
        after="e9",
        first_number=len(entries),
    )
    back = chain(
        (
            BranchSummary(from_id="e22", summary="They thought about *C*.", usage=ONE_REQUEST),
            message(user_message("Leave it in Python, then.")),
            message(answered("So be it.")),
        ),
        after="e20",
        first_number=len(entries) + len(side),
    )
    strange = UnknownEntry(
        data={"type": "hologram", "id": "e26", "parentId": "e25", "beam": True},
        id="e26",
        parent_id="e25",
    )
    return [*entries, *side, *back, strange]


def long_session(count: int) -> list[Entry]:
    """About ``count`` entries of a kilobyte each: questions, tools, code."""
    sentence = "The engine turns over once for every tooth of the wheel. " * 12
    code = "def tooth(wheel: int) -> int:\n    return wheel * 7 % 360  # degrees\n" * 12
    drafts: list[KnownEntry] = []
    for number in range(count // 5):
        drafts += (
            message(user_message(f"Question {number}: {sentence}")),
            message(
                answered(
                    f"# Step {number}\n\n{sentence}", called(f"r{number}", "read", path="a.py")
                )
            ),
            message(came(f"r{number}", "read", code)),
            message(answered(called(f"b{number}", "bash", command="make -j2 all && ./engine"))),
            message(came(f"b{number}", "bash", sentence.replace(". ", ".\n"))),
        )
    return chain(drafts)


def drawn_results(extra: str = "") -> list[Entry]:
    """A session with results that are drawn by the shape of their details, ``extra`` in each text.

    A task list, an archive, a structural change as a preview, and the same applied and discarded.
    """
    tasks = [
        {"content": f"Read the engine{extra}", "status": "completed"},
        {"content": f"Rename total{extra}", "status": "in_progress"},
        {"content": f"Rewrite it in C{extra}", "status": "abandoned"},
    ]
    later = [{"content": f"Write the notes{extra}", "status": "pending"}]
    phases = [
        {"name": f"Mend{extra}", "tasks": tasks},
        {"name": f"Publish{extra}", "tasks": later},
    ]
    members = [
        {"name": f"engine/main.py{extra}", "size": 1204},
        {"name": f"engine/{extra}", "size": 0},
    ]
    files = [
        {"path": f"{name}.py{extra}", "replacements": 1, "diff": f"-1 total(1){extra}\n+1 sum(1)"}
        for name in ("a", "b")
    ]
    label = f"2 replacements in 2 files{extra}"
    change = {"files": files, "replacements": 2, "diff": "-1 total(1)\n+1 sum(1)"}
    action = {"label": label, "sourceToolName": f"ast_edit{extra}"}
    applied = {
        "action": "apply",
        "reason": f"The names are right{extra}",
        "remaining": [f"1 replacement in 1 file{extra}"],
        "sourceDetails": {**change, "pending": False},
        **action,
    }
    discarded = {"action": "discard", "reason": f"Too much{extra}", "remaining": [], **action}
    results: Sequence[tuple[str, object]] = (
        ("todo", {"phases": phases}),
        ("read", {"members": members, "total": 1500}),
        ("ast_edit", {**change, "pending": True, "label": label}),
        ("resolve", applied),
        ("resolve", discarded),
    )
    calls = [called(f"c{n}", name) for n, (name, _) in enumerate(results)]
    came_back = [
        message(came(f"c{n}", name, f"text {n}{extra}", details=details))
        for n, (name, details) in enumerate(results)
    ]
    return chain([message(user_message("Go on.")), message(answered(*calls)), *came_back])
