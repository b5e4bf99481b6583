"""Where ours deliberately says something else than the recordings; each row is one record.

The test fails for a difference that has no row, and for a row whose record has come to match.
"""

from __future__ import annotations

from pi.base.records import Record

ABSENT = "absent"
"""Stands for the paths of a record that ours leaves out."""


class Difference(Record):
    """One recorded record that ours does not repeat."""

    recording: str
    place: int
    """Which step of the recording, the first being 0."""
    paths: frozenset[str]
    """Everything that differs in it."""
    because: str
    """Who demands it, and in which words."""


def differs(recording: str, place: int, *paths: str, because: str) -> Difference:
    """A row."""
    return Difference(recording=recording, place=place, paths=frozenset(paths), because=because)


NO_EMPTY_DELTA = "tests/ai/wire/grammar.py, the grammar of every wire: a delta is never empty"
INLINE_EXTENSION = (
    'compat/rpc.md: "pi itself always lists `/llama`", a command of an extension;'
    " issue 6 leaves extensions to the extension issue"
)
NAMED_IS_KEPT = (
    'issue 6: "Where the original has a defect we do the right thing"; compat/session-format.md:'
    ' "A name set or a `!` command before any assistant reply is lost if the process ends"'
)
REFUSED_CALL = (
    "docs/compatibility.md: arguments that are not JSON make a diagnostic, and the call is refused:"
    ' "half a command must not run"'
)
MODEL_CAN_MEND = 'style.md 1.7: "problems the model can fix go to the model"'
BOTH = f"{MODEL_CAN_MEND}; {REFUSED_CALL}"
NOT_SENT = 'compat/llm-layer.md: "assistant messages with stopReason error/aborted are dropped"'
CARRY_OVER = (
    'issue 5: "survival is the work of a deterministic carry-over";'
    " estimates count our own prompt, whose words differ"
)
LATEST_WORDS = (
    'issue 5: "first and latest user messages verbatim": the message that overflowed is kept,'
    " so the turn is not split and one summary is enough"
)
CUT_ANSWERS_STAY = (
    "docs/compatibility.md: an answer that the output limit cut off stays in the context,"
    ' because "please continue" needs it'
)
BEGINS_EMPTY = (
    'compat/json-mode.md: `message_start` assistant has "content [], stopReason "pending""'
)

QUERIES = "all-queries-and-errors"
TALK = "conversation-steer-followup-abort-bash"
ABORT = "abort-during-tools-images"
RETRIES = "retries-errors-bad-tools"
COMPACTION = "compaction-fork-clone-switch"
CHAT = "openai-completions-two-parallel-tools"
ANTHROPIC = "anthropic-messages-thinking-tool"
RESPONSES = "openai-responses-thinking-tool"

_TEXT = "content[0].text"

DIFFERENCES = (
    differs(QUERIES, 15, ".data.commands", because=INLINE_EXTENSION),
    differs(QUERIES, 72, ".success", ".error", ".data", because=NAMED_IS_KEPT),
    differs(TALK, 50, ABSENT, because=NO_EMPTY_DELTA),
    differs(ABORT, 12, ABSENT, because=NO_EMPTY_DELTA),
    differs(ABORT, 16, ABSENT, because=NO_EMPTY_DELTA),
    differs(ABORT, 54, ABSENT, because=NO_EMPTY_DELTA),
    differs(RETRIES, 111, ABSENT, because=CUT_ANSWERS_STAY),
    differs(RETRIES, 121, ABSENT, because=NO_EMPTY_DELTA),
    differs(RETRIES, 125, ABSENT, because=NO_EMPTY_DELTA),
    differs(RETRIES, 129, ABSENT, because=NO_EMPTY_DELTA),
    differs(RETRIES, 133, ABSENT, because=NO_EMPTY_DELTA),
    differs(RETRIES, 140, ".message.diagnostics", because=REFUSED_CALL),
    differs(RETRIES, 142, f".result.{_TEXT}", because=MODEL_CAN_MEND),
    differs(RETRIES, 147, f".result.{_TEXT}", because=REFUSED_CALL),
    differs(RETRIES, 149, f".message.{_TEXT}", because=MODEL_CAN_MEND),
    differs(RETRIES, 150, f".message.{_TEXT}", because=MODEL_CAN_MEND),
    differs(RETRIES, 155, f".message.{_TEXT}", because=REFUSED_CALL),
    differs(RETRIES, 156, f".message.{_TEXT}", because=REFUSED_CALL),
    differs(
        RETRIES,
        157,
        ".message.diagnostics",
        f".toolResults[0].{_TEXT}",
        f".toolResults[3].{_TEXT}",
        because=BOTH,
    ),
    differs(
        RETRIES,
        165,
        ".messages[1].diagnostics",
        f".messages[2].{_TEXT}",
        f".messages[5].{_TEXT}",
        because=BOTH,
    ),
    differs(
        RETRIES, 182, ".data.contextUsage.tokens", ".data.contextUsage.percent", because=NOT_SENT
    ),
    differs(COMPACTION, 206, ABSENT, because=NO_EMPTY_DELTA),
    differs(
        COMPACTION,
        526,
        ".result.details.carryOver",
        ".result.estimatedTokensAfter",
        because=CARRY_OVER,
    ),
    differs(
        COMPACTION, 527, ".data.details.carryOver", ".data.estimatedTokensAfter", because=CARRY_OVER
    ),
    differs(
        COMPACTION,
        653,
        ".result.details.carryOver",
        ".result.estimatedTokensAfter",
        because=CARRY_OVER,
    ),
    differs(
        COMPACTION,
        681,
        ".result.details.carryOver",
        ".result.estimatedTokensAfter",
        ".result.firstKeptEntryId",
        ".result.summary",
        ".result.tokensBefore",
        *(f".result.usage.{name}" for name in ("input", "output", "cacheRead", "reasoning")),
        ".result.usage.totalTokens",
        *(f".result.usage.cost.{name}" for name in ("input", "output", "cacheRead", "total")),
        because=f"{LATEST_WORDS}; {CARRY_OVER}",
    ),
    differs(COMPACTION, 704, ".data.messageCount", because=LATEST_WORDS),
    differs(COMPACTION, 756, ".data.messageCount", because=LATEST_WORDS),
    differs(CHAT, 14, ABSENT, because=NO_EMPTY_DELTA),
    differs(CHAT, 18, ABSENT, because=NO_EMPTY_DELTA),
    differs(ANTHROPIC, 7, ".message.content", because=BEGINS_EMPTY),
    differs(ANTHROPIC, 24, ".message.content", because=BEGINS_EMPTY),
)

UNASKED_SUMMARIES = {COMPACTION: 1}
"""Recorded summaries that ours does not need: see ``LATEST_WORDS``."""


def absent(recording: str) -> frozenset[int]:
    """The places of records that ours leaves out."""
    return frozenset(index for index, paths in of(recording).items() if paths == {ABSENT})


def of(recording: str) -> dict[int, frozenset[str]]:
    """What is listed of a recording, by place."""
    return {row.place: row.paths for row in DIFFERENCES if row.recording == recording}
