"""The task list as a value: operations, normalisation, text forms."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from pi.batteries.todo.state import (
    Batch,
    Phase,
    PhaseItems,
    Phases,
    Task,
    TodoOp,
    apply_batch,
    phases_of,
    tasks_of,
    to_json,
)
from pi.batteries.todo.text_forms import from_markdown, summary, to_markdown

PLAN = (PhaseItems(phase="Build", items=("a", "b")), PhaseItems(phase="Test", items=("c",)))
INIT = TodoOp(op="init", list=PLAN)


def started() -> Phases:
    return apply_batch((), [INIT]).phases


def statuses(phases: Phases) -> dict[str, str]:
    return {task.content: task.status for _, task in tasks_of(phases)}


def test_init_starts_the_first_task() -> None:
    assert statuses(started()) == {"a": "in_progress", "b": "pending", "c": "pending"}


def test_start_demotes_the_active_task_and_reopens_a_closed_one() -> None:
    done = apply_batch(started(), [TodoOp(op="done", task="a")]).phases

    again = apply_batch(done, [TodoOp(op="start", task="a")]).phases

    assert statuses(done) == {"a": "completed", "b": "in_progress", "c": "pending"}
    assert statuses(again) == {"a": "in_progress", "b": "pending", "c": "pending"}


def test_targets_are_a_task_a_phase_or_everything() -> None:
    phases = started()

    assert statuses(apply_batch(phases, [TodoOp(op="drop", phase="Build")]).phases) == {
        "a": "abandoned",
        "b": "abandoned",
        "c": "in_progress",
    }
    assert set(statuses(apply_batch(phases, [TodoOp(op="done")]).phases).values()) == {"completed"}
    emptied = apply_batch(phases, [TodoOp(op="rm")])
    assert [phase.name for phase in emptied.phases] == ["Build", "Test"]
    assert summary(emptied) == "Todo list cleared."


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (TodoOp(op="init"), "Missing list for init operation"),
        (TodoOp(op="start"), "Missing task content"),
        (TodoOp(op="start", task="z"), 'Task "z" not found'),
        (TodoOp(op="done", phase="Z"), 'Phase "Z" not found'),
        (TodoOp(op="rm", phase=" "), "Missing phase name"),
        (TodoOp(op="append", items=("x",)), "Missing phase name for append operation"),
        (TodoOp(op="append", phase="Build"), "Missing items for append operation"),
        (TodoOp(op="append", phase="Build", items=("x", "c")), 'Task "c" already exists'),
        (TodoOp(op="init", list=PLAN + PLAN[:1]), 'Duplicate phase "Build" in init list'),
        (
            TodoOp(op="init", list=(PhaseItems(phase="P", items=("x", "x")),)),
            'Duplicate task "x" in init list',
        ),
    ],
)
def test_each_error_discards_the_whole_batch(op: TodoOp, error: str) -> None:
    before = started()

    batch = apply_batch(before, [TodoOp(op="done", task="a"), op, TodoOp(op="done", task="b")])

    assert batch.phases == before
    assert batch.completed == ()
    assert error in batch.errors
    assert summary(batch).startswith("Errors: ")


def test_later_errors_are_reported_too_and_an_empty_list_has_a_hint() -> None:
    batch = apply_batch((), [TodoOp(op="start", task="a"), TodoOp(op="rm", phase="P")])

    assert batch.errors == (
        'Task "a" not found (the list is empty: use init first)',
        'Phase "P" not found',
    )


def test_a_batch_of_views_changes_nothing() -> None:
    odd = (Phase(name="P", tasks=(Task(content="a"), Task(content="b"))),)

    batch = apply_batch(odd, [TodoOp(op="view"), TodoOp(op="view")])

    assert batch == Batch(phases=odd, read_only=True)
    assert summary(apply_batch((), [TodoOp(op="view")])) == "Todo list is empty."


def test_the_summary_lists_remaining_tasks_progress_and_tree() -> None:
    batch = apply_batch(started(), [TodoOp(op="done", task="a")])

    assert batch.completed == (("Build", "a"),)
    assert summary(batch).splitlines() == [
        "Remaining items (2):",
        "  - b [in_progress] (Build)",
        "  - c [pending] (Test)",
        'Phase 1/2 "Build": 1/2 tasks closed',
        "  Build:",
        "    [x] a",
        "    [/] b",
        "  Test:",
        "    [ ] c",
    ]


def test_markdown_round_trip_with_other_marks_and_orphans() -> None:
    phases = apply_batch(started(), [TodoOp(op="done", task="a")]).phases

    assert from_markdown(to_markdown(phases)) == (phases, ())
    assert from_markdown("- [>] x\n* [~] y\n")[0] == (
        Phase(
            name="Todos",
            tasks=(
                Task(content="x", status="in_progress"),
                Task(content="y", status="abandoned"),
            ),
        ),
    )
    _, errors = from_markdown("- [ ] x\nsome prose\n- [?] y\n- [ ] x\n")
    assert [error.split(":")[0] for error in errors] == ["Line 2", "Line 3", "Line 4"]


def test_json_round_trip_and_foreign_details() -> None:
    phases = started()

    assert phases_of({"phases": to_json(phases)}) == phases
    assert phases_of(None) is None
    assert phases_of({"phases": [3]}) is None


# A reference model: plain dicts that are changed in place, written from the text alone.


class Reference:
    def __init__(self) -> None:
        self.phases: list[dict[str, Any]] = []

    def apply(self, ops: list[dict[str, Any]]) -> bool:
        if all(op["op"] == "view" for op in ops):
            return True
        saved = msgspec.json.decode(msgspec.json.encode(self.phases))
        accepted = [self._one(op) for op in ops]
        if not all(accepted):
            self.phases = saved
            return False
        tasks = [task for phase in self.phases for task in phase["tasks"]]
        active = [task for task in tasks if task["status"] == "in_progress"]
        for task in active[1:]:
            task["status"] = "pending"
        if not active:
            for task in [task for task in tasks if task["status"] == "pending"][:1]:
                task["status"] = "in_progress"
        return True

    def _one(self, op: dict[str, Any]) -> bool:  # noqa: C901, PLR0912  (one case per operation)
        tasks = [task for phase in self.phases for task in phase["tasks"]]
        named = [task for task in tasks if task["content"] == op.get("task")]
        phase = [phase for phase in self.phases if phase["name"] == op.get("phase")]
        match op["op"]:
            case "init":
                items = [item for part in op["list"] for item in part["items"]]
                names = [part["phase"] for part in op["list"]]
                if len(set(items)) < len(items) or len(set(names)) < len(names):
                    return False
                self.phases = [
                    {
                        "name": part["phase"],
                        "tasks": [{"content": i, "status": "pending"} for i in part["items"]],
                    }
                    for part in op["list"]
                ]
            case "append":
                contents = {task["content"] for task in tasks}
                if contents & {*op["items"]} or len({*op["items"]}) < len(op["items"]):
                    return False
                if not phase:
                    phase = [{"name": op["phase"], "tasks": []}]
                    self.phases += phase
                phase[0]["tasks"] += [{"content": i, "status": "pending"} for i in op["items"]]
            case "start":
                if not named:
                    return False
                for task in tasks:
                    if task["status"] == "in_progress":
                        task["status"] = "pending"
                named[0]["status"] = "in_progress"
            case "done" | "drop" | "rm":
                if ("task" in op and not named) or (
                    "task" not in op and "phase" in op and not phase
                ):
                    return False
                aimed = named[:1] if "task" in op else phase[0]["tasks"] if "phase" in op else tasks
                aimed = [*aimed]
                if op["op"] == "rm":
                    for part in self.phases:
                        part["tasks"] = [t for t in part["tasks"] if all(t is not a for a in aimed)]
                else:
                    for task in aimed:
                        task["status"] = "completed" if op["op"] == "done" else "abandoned"
        return True


def random_op(rng: random.Random) -> dict[str, Any]:
    tasks, names = "abcdefgh", ("P", "Q", "R")
    kind = rng.choice(["init", "start", "done", "drop", "rm", "append", "append", "view", "start"])
    op: dict[str, Any] = {"op": kind}
    if kind == "init":
        op["list"] = [
            {"phase": rng.choice(names), "items": rng.sample(tasks, rng.randint(1, 3))}
            for _ in range(rng.randint(1, 2))
        ]
    elif kind == "append":
        op["phase"] = rng.choice(names)
        op["items"] = [rng.choice(tasks) for _ in range(rng.randint(1, 2))]
    elif kind == "start":
        op["task"] = rng.choice(tasks)
    elif kind in ("done", "drop", "rm"):
        aim = rng.random()
        if aim < 0.7:
            op["task"] = rng.choice(tasks)
        elif aim < 0.9:
            op["phase"] = rng.choice(names)
    return op


def test_500_random_batches_match_a_reference_model() -> None:
    rng = random.Random(23)
    reference = Reference()
    phases: Phases = ()
    failed = 0
    for _ in range(500):
        ops = [random_op(rng) for _ in range(rng.randint(1, 4))]
        accepted = reference.apply(ops)

        batch = apply_batch(phases, msgspec.convert(ops, list[TodoOp]))

        assert (not batch.errors) is accepted, ops
        assert to_json(batch.phases) == reference.phases, ops
        phases = batch.phases
        failed += not accepted
    assert 50 < failed < 450  # both kinds occur
