"""Summaries of an abandoned branch."""

from __future__ import annotations

from pi.agent.compaction.summarise import SummaryRequest
from pi.ai.messages import AssistantMessage, Text
from pi.base.records import replace
from pi.coding.bus import EventBus
from pi.coding.compaction.options import BranchSummaryOptions
from pi.coding.extension_host.events.queries import Notes, SessionBeforeTreeEvent, TreeDecision
from pi.coding.runtime.session.tree import notes_on, tree_move
from pi.coding.session.entries import Compaction
from tests.coding.compaction.compaction_fixture import SMALL
from tests.coding.compaction.test_measuring import answered, append_user, conversation


async def test_only_entries_of_the_abandoned_branch_are_summarised() -> None:
    log = conversation().log
    root = append_user(log, "root")
    append_user(log, "left one")
    answered(log, 10)
    leaf = append_user(log, "left two")
    requests: list[str] = []

    async def ask(request: SummaryRequest) -> AssistantMessage:
        requests.append(str(request.context.messages))
        return AssistantMessage(content=(Text(text="the notes"),))

    move = tree_move(log, root)
    notes = await notes_on(move, log, ask, BranchSummaryOptions(), model=SMALL)

    assert (move.old_leaf_id, move.common_ancestor_id, len(move.entries)) == (leaf, root, 3)
    assert notes.summary.startswith("The user explored a different conversation branch")
    assert notes.summary.endswith("the notes")
    assert notes.details == {"readFiles": (), "modifiedFiles": ()}
    assert "left one" in requests[0]
    assert "root" not in requests[0]


async def test_a_compaction_of_the_branch_is_summarised_with_its_files() -> None:
    log = conversation().log
    root = append_user(log, "root")
    first_kept = append_user(log, "left")
    files = {"readFiles": ["a.py"], "modifiedFiles": []}
    log.append(
        Compaction(summary="so far", first_kept_id=first_kept, tokens_before=9, details=files)
    )
    requests: list[str] = []

    async def ask(request: SummaryRequest) -> AssistantMessage:
        requests.append(str(request.context.messages))
        return AssistantMessage(content=(Text(text="the notes"),))

    notes = await notes_on(tree_move(log, root), log, ask, BranchSummaryOptions(), model=SMALL)

    assert "<earlier-summary>\\nso far\\n</earlier-summary>" in requests[0]
    assert notes.details == {"readFiles": ("a.py",), "modifiedFiles": ()}


async def test_custom_instructions_extend_or_replace_the_summary_prompt() -> None:
    log = conversation().log
    root = append_user(log, "root")
    append_user(log, "left")
    requests: list[str] = []

    async def ask(request: SummaryRequest) -> AssistantMessage:
        requests.append(str(request.context.messages))
        return AssistantMessage(content=(Text(text="the notes"),))

    move = replace(tree_move(log, root), custom_instructions="as a poem")
    await notes_on(move, log, ask, BranchSummaryOptions(), model=SMALL)
    alone = replace(move, replace_instructions=True)
    await notes_on(alone, log, ask, BranchSummaryOptions(), model=SMALL)

    assert all("as a poem" in question for question in requests)
    assert len(requests[1]) < len(requests[0])


async def test_handlers_can_change_or_cancel_a_move_in_the_tree() -> None:
    log = conversation().log
    root = append_user(log, "root")
    append_user(log, "left")
    bus = EventBus()
    bus.subscribe(
        SessionBeforeTreeEvent, lambda q: TreeDecision(label="here", summary=Notes(summary="n"))
    )
    bus.subscribe(
        SessionBeforeTreeEvent,
        lambda q: TreeDecision(custom_instructions="c", replace_instructions=True),
    )
    event = await bus.query(SessionBeforeTreeEvent(preparation=tree_move(log, root)))

    move = event.decided_move
    assert (move.label, move.custom_instructions) == ("here", "c")
    assert (event.decision.summary, event.decision.cancel) == (Notes(summary="n"), False)
    bus.subscribe(SessionBeforeTreeEvent, lambda q: TreeDecision(cancel=True))
    assert (await bus.query(SessionBeforeTreeEvent(preparation=tree_move(log, root)))).is_settled
