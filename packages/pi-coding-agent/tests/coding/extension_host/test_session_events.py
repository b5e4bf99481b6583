from __future__ import annotations

from pi.coding.compaction.events import (
    CompactDecision,
    CompactingAnswer,
    SessionBeforeCompactEvent,
    SessionCompactingEvent,
)
from pi.coding.extension_host.events.answers import CacheWarmingAnswer, Cancel, UserBashAnswer
from pi.coding.extension_host.events.queries import (
    CacheWarmingDecisionEvent,
    Notes,
    SessionBeforeForkEvent,
    SessionBeforeTreeEvent,
    TreeDecision,
    TreeMove,
    UserBashEvent,
)
from pi.coding.extension_host.events.session import ResourcesAnswer, ResourcesDiscoverEvent
from pi.coding.shell.local import BashResult
from pi.coding.trust import ProjectTrustEvent, TrustAnswer

MOVE = TreeMove(target_id="a", old_leaf_id="b", common_ancestor_id=None, entries=())


def test_the_first_trust_decision_wins() -> None:
    event = ProjectTrustEvent(cwd="/x").with_answer(TrustAnswer(trusted="undecided"))

    assert not event.is_settled
    assert event.with_answer(TrustAnswer(trusted="no")).is_settled


def test_resource_paths_of_all_handlers_are_combined() -> None:
    event = ResourcesDiscoverEvent(cwd="/", reason="startup")
    event = event.with_answer(ResourcesAnswer(skill_paths=("a",)))
    event = event.with_answer(ResourcesAnswer(skill_paths=("b",), prompt_paths=("c",)))

    assert event.found == ResourcesAnswer(skill_paths=("a", "b"), prompt_paths=("c",))


def test_a_cancellation_is_final() -> None:
    fork = SessionBeforeForkEvent(entry_id="a", position="at")

    assert fork.with_answer(Cancel()).is_settled
    assert not fork.with_answer(Cancel(cancel=False, skip_conversation_restore=True)).is_settled


def test_a_compaction_can_be_cancelled_and_its_prompt_extended() -> None:
    event = SessionBeforeCompactEvent(
        preparation=None,  # type: ignore[arg-type]
        branch_entries=(),
        custom_instructions="",
        reason="manual",
        will_retry=False,
    )
    compacting = SessionCompactingEvent(reason="manual")
    compacting = compacting.with_answer(CompactingAnswer(prompt="a", context=("x",)))
    compacting = compacting.with_answer(CompactingAnswer(context=("y",), preserve_data={"k": 1}))

    assert event.with_answer(CompactDecision(cancel=True)).is_settled
    assert compacting.added == CompactingAnswer(
        prompt="a", context=("x", "y"), preserve_data={"k": 1}
    )


def test_answers_to_a_move_in_the_tree_are_combined() -> None:
    event = SessionBeforeTreeEvent(preparation=MOVE)
    event = event.with_answer(TreeDecision(label="l", summary={"summary": "s"}))  # type: ignore[arg-type]
    event = event.with_answer(TreeDecision(custom_instructions="i"))

    assert event.decision == TreeDecision(
        label="l", summary=Notes(summary="s"), custom_instructions="i"
    )
    assert event.with_answer(TreeDecision(cancel=True)).is_settled


def test_an_answer_or_a_failure_decides_about_a_shell_command_of_the_user() -> None:
    event = UserBashEvent(command="ls", exclude_from_context=False, cwd="/")
    result = BashResult(output="x", exit_code=0)

    assert event.with_answer(UserBashAnswer(result=result)).result == result
    given = {"output": "x", "exit_code": 0}
    assert event.with_answer(UserBashAnswer(result=given)).result == result
    assert event.after_failure(ValueError("no")).refused == "no"
    assert event.after_failure(ValueError()).is_settled


def test_an_answer_replaces_the_cache_warming_decision() -> None:
    event = CacheWarmingDecisionEvent(
        warm_cost=1, miss_cost=2, continuation_probability=0.5, action="warm"
    )

    assert event.with_answer(CacheWarmingAnswer(action="stop")).action == "stop"
