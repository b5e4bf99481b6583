"""Plan mode in a session: on, off, resumed, proposed, approved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Reply, calls, says
from pi.ai.transcript import final_tools
from pi.base.records import replace
from pi.batteries.plan.adapter import APPROVE, CLEAR, COMPACT, REFINE
from pi.batteries.sandbox.adapter import extension as sandbox
from pi.coding.session.opening import open_session
from pi.extension import ExtensionAPI
from pi.extension.guards import find_sandbox
from tests.batteries.plan.plan_session import ON, Decider, planning, results
from tests.coding.extension_host.extension_session import ExtensionFixture
from tests.modes.pipes import until

PLAN = "# Add a cache\n\n1. Write cache.py\n"
PROPOSES = calls("propose_plan", plan=PLAN)


def sent(hosted: ExtensionFixture, at: int = -1) -> str:
    """The messages of a request, as one text."""
    return str(hosted.fixture.provider.requests[at].messages)


def tools(hosted: ExtensionFixture, at: int = -1) -> list[str]:
    messages = hosted.fixture.provider.requests[at].messages
    system = [message for message in messages if isinstance(message, SystemMessage)]
    return [tool.name for tool in final_tools(system)]


def states(hosted: ExtensionFixture) -> list[Any]:
    entries = [msgspec.json.decode(entry) for entry in hosted.session.info.entries()]
    ids = {entry.id for entry in hosted.session.entries.log.branch()}
    return [
        entry["data"]["on"]
        for entry in entries
        if entry.get("customType") == "plan_mode" and entry["id"] in ids and "data" in entry
    ]


async def test_the_flag_starts_plan_mode_and_a_message_announces_it(tmp_path: Path) -> None:
    ui = Decider()
    async with planning(tmp_path, says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("plan a cache")

        assert "Plan mode is on" in sent(hosted)
        assert "plan mode" not in str(hosted.session.prompts.sections()).lower()
        assert "propose_plan" in tools(hosted)
        assert states(hosted) == [True]
    assert hosted.failures == []


async def test_without_plan_mode_nothing_is_declared_or_announced(tmp_path: Path) -> None:
    async with planning(tmp_path, says("ok"), flags={}, settings={}) as hosted:
        await hosted.session.prompt("go")

        assert "propose_plan" not in tools(hosted)
        assert "lan mode" not in sent(hosted)
        assert states(hosted) == []


async def test_the_command_switches_plan_mode_and_the_tool_remains_declared(tmp_path: Path) -> None:
    ui = Decider()
    async with planning(tmp_path, says("a"), says("b"), flags={}, settings={}, ui=ui) as hosted:
        await hosted.session.prompt("/plan make a cache")
        await hosted.session.wait_for_idle()
        assert "make a cache" in sent(hosted)
        assert ui.status["plan"] == "plan mode"

        await hosted.session.prompt("/plan")
        await hosted.session.prompt("go")
        assert "ended it without approving" in sent(hosted)
        assert tools(hosted, 0) == tools(hosted, 1)
        assert states(hosted) == [True, False]
        assert ui.status["plan"] is None


@pytest.mark.behaviour("plan-approved")
async def test_an_approved_plan_is_carried_out_in_the_same_run(tmp_path: Path) -> None:
    write = calls("write", path="cache.py", content="x")
    ui = Decider(APPROVE)
    async with planning(tmp_path, PROPOSES, write, says("done"), ui=ui) as hosted:
        await hosted.session.prompt("plan a cache")

        assert ui.asked == ["Carry out this plan? Add a cache"]
        assert results(hosted)[0].startswith("The user approved the plan.")
        assert (hosted.session.workspace.cwd / "cache.py").read_text() == "x"
        assert states(hosted) == [True, False]


@pytest.mark.behaviour("plan-rejected")
@pytest.mark.parametrize("answers", [(REFINE, "smaller"), (REFINE, None), (None,)])
async def test_plan_mode_remains_on_after_a_rejected_proposal(
    tmp_path: Path, answers: tuple[str | None, ...]
) -> None:
    write = calls("write", path="cache.py", content="x")
    async with planning(tmp_path, PROPOSES, write, says("a"), ui=Decider(*answers)) as hosted:
        await hosted.session.prompt("plan a cache")
        if answers[-1] is None:  # the run ends there
            assert "without a decision" in results(hosted)[0]
            await hosted.session.prompt("go on")
        else:
            assert "smaller" in results(hosted)[0]

        assert "Plan mode is on" in results(hosted)[1]
        assert not (hosted.session.workspace.cwd / "cache.py").exists()
        assert states(hosted) == [True]


async def test_approval_can_clear_the_context_and_execute_the_plan_in_a_new_session(
    tmp_path: Path,
) -> None:
    async with planning(tmp_path, PROPOSES, says("done"), ui=Decider(CLEAR)) as hosted:
        first = hosted.session.info.state().session_id
        await hosted.session.prompt("plan a cache")
        await until(lambda: len(hosted.fixture.provider.requests) == 2)
        await hosted.session.wait_for_idle()

        assert hosted.session.info.state().session_id != first
        assert "Write cache.py" in sent(hosted)
        assert "plan a cache" not in sent(hosted)
        assert "Plan mode is on" not in sent(hosted)
        assert states(hosted) == []
    assert hosted.failures == []


async def test_approval_can_compact_the_conversation_before_the_plan_is_executed(
    tmp_path: Path,
) -> None:
    talk = [says("word " * 400) for _ in range(8)]
    settings = {**ON, "compaction": {"keepRecentTokens": 10}}
    async with planning(
        tmp_path,
        *talk,
        PROPOSES,
        says("## Goal\nA cache."),
        says("done"),
        ui=Decider(COMPACT),
        settings=settings,
    ) as hosted:
        for _ in talk:
            await hosted.session.prompt("say more " * 50)
        await hosted.session.prompt("plan a cache")
        await until(lambda: "Carry out this plan" in sent(hosted))
        await hosted.session.wait_for_idle()

        kinds = [type(entry).__name__ for entry in hosted.session.entries.log.branch()]
        assert "Compaction" in kinds
        assert states(hosted)[-1] is False


async def test_a_compaction_in_plan_mode_repeats_the_announcement(tmp_path: Path) -> None:
    talk = [says("word " * 400) for _ in range(6)]
    settings = {**ON, "compaction": {"keepRecentTokens": 10}}
    async with planning(
        tmp_path, *talk, says("## Goal\nA cache."), says("ok"), settings=settings
    ) as hosted:
        for _ in talk:
            await hosted.session.prompt("say more " * 50)
        await hosted.session.compaction.compact("")
        await hosted.session.prompt("and now?")

        assert "Plan mode is on" in sent(hosted)


@pytest.mark.behaviour("plan-survives-resume")
async def test_plan_mode_is_restored_by_a_resume_without_new_entries(tmp_path: Path) -> None:
    async with planning(tmp_path, PROPOSES, ui=Decider(None)) as hosted:
        await hosted.session.prompt("plan a cache")
        file = hosted.session.entries.log.file
    assert file is not None
    before = file.read_bytes()

    write = calls("write", path="cache.py", content="x")
    ui = Decider(APPROVE)
    async with planning(
        tmp_path,
        write,
        says("stopped"),
        says("done"),
        ui=ui,
        flags={},
        settings={},
        open_log=lambda location: open_session(file, location),
    ) as hosted:
        assert file.read_bytes() == before
        await hosted.session.prompt("begin")
        assert "Plan mode is on" in results(hosted)[-1]
        await hosted.session.prompt("/plan-review")
        await until(lambda: len(hosted.fixture.provider.requests) == 3)
        await hosted.session.wait_for_idle()

        assert "Carry out this plan" in sent(hosted)
        assert states(hosted)[-1] is False


async def test_plan_mode_is_restored_from_the_branch(tmp_path: Path) -> None:
    async with planning(tmp_path, says("a"), flags={}) as hosted:
        await hosted.session.prompt("first")
        leaf = hosted.session.entries.log.leaf_id
        assert leaf is not None
        await hosted.session.prompt("/plan")
        assert states(hosted) == [True]

        await hosted.session.tree.go_to(leaf)
        assert states(hosted) == []
        hosted.fixture.provider.add(calls("write", path="x.txt", content="x"), says("c"))
        await hosted.session.prompt("write")
        assert (hosted.session.workspace.cwd / "x.txt").exists()


async def test_without_a_user_a_proposal_is_not_approved_and_plan_mode_remains_on(
    tmp_path: Path,
) -> None:
    from pi.coding.port.ui import ExtensionUI

    async with planning(
        tmp_path, PROPOSES, says("The plan"), ui=ExtensionUI(), mode="print"
    ) as hosted:
        await hosted.session.prompt("plan a cache")

        assert "No user can approve" in results(hosted)[0]
        assert states(hosted) == [True]


async def test_the_yolo_flag_approves_plans_without_a_dialog(tmp_path: Path) -> None:
    write = calls("write", path="cache.py", content="x")
    ui = Decider()
    async with planning(
        tmp_path, PROPOSES, write, says("ok"), ui=ui, flags={"plan-yolo": True}, settings={}
    ) as hosted:
        await hosted.session.prompt("a cache")

        assert (hosted.session.workspace.cwd / "cache.py").exists()
        assert ui.asked == []


@pytest.mark.behaviour("plan-mcp-tools")
async def test_tools_registered_during_planning_remain_active_after_the_approval(
    tmp_path: Path,
) -> None:
    """Another agent lost its MCP tools when it restored the list of tools."""
    registered: list[ExtensionAPI] = []

    def server(pi: ExtensionAPI) -> None:
        registered.append(pi)

    def connect(call: Any) -> Reply:
        @registered[0].tool(name="mcp__late__add")
        async def add(a: int, b: int) -> str:
            """Add."""
            return str(a + b)

        return PROPOSES

    late = calls("mcp__late__add", a=1, b=2)
    async with planning(
        tmp_path, connect, late, says("ok"), ui=Decider(APPROVE), more=(server,)
    ) as hosted:
        await hosted.session.prompt("plan")

        assert "mcp__late__add" in tools(hosted)
        assert results(hosted)[-1] == "3"


async def test_approved_plans_are_saved_in_the_project(tmp_path: Path) -> None:
    settings = {"plan": {"enabled": True, "autosave": True, "autosaveDir": "docs/plans"}}
    async with planning(
        tmp_path, PROPOSES, says("ok"), ui=Decider(APPROVE), settings=settings
    ) as hosted:
        await hosted.session.prompt("plan")

        saved = hosted.session.workspace.cwd / "docs/plans/add-a-cache.md"
        assert saved.read_text() == PLAN


async def test_new_sessions_start_in_plan_mode_by_setting(tmp_path: Path) -> None:
    settings = {"plan": {"defaultOnStartup": True}}
    async with planning(tmp_path, says("ok"), flags={}, settings=settings) as hosted:
        assert states(hosted) == [True]


def model(id: str, **more: Any) -> Model:
    return replace(FAUX_MODEL, id=id, reasoning=True, **more)


@pytest.mark.parametrize("source", ["flag", "variable", "setting"])
async def test_plan_mode_uses_the_model_of_its_role_and_restores_the_previous_one(
    tmp_path: Path, source: str
) -> None:
    flags: dict[str, Any] = {"plan-mode": True}
    options: dict[str, Any] = {}
    if source == "flag":
        flags["plan"] = "faux/big:high"
    elif source == "variable":
        options["environ"] = {"PI_PLAN_MODEL": "faux/big:high"}
    else:
        options["settings"] = {**ON, "modelRoles": {"plan": "@slow", "slow": "faux/big:high"}}
    provider_models = (model("faux"), model("big"))
    from pi.testing import ScriptedProvider

    provider = ScriptedProvider(PROPOSES, says("done"), models=provider_models)

    def offer(pi: ExtensionAPI) -> None:
        pi.register_provider(provider)

    async with planning(
        tmp_path, ui=Decider(APPROVE), flags=flags, more=(offer,), **options
    ) as hosted:
        await hosted.session.prompt("plan")

        used = [(call.model.id, call.options.reasoning) for call in provider.requests]
        assert used[0] == ("big", "high")
        assert used[1][0] == "faux"
        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert not result.is_error


@pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox of Linux")
async def test_plan_mode_replaces_the_sandbox_of_the_sandbox_battery(tmp_path: Path) -> None:
    if not (await find_sandbox({"PATH": "/usr/bin:/bin"})).cuts_network:
        pytest.skip("this machine has no sandbox")
    settings = {**ON, "sandbox": {"enabled": True}}
    command = calls("bash", command="echo seen; touch made.txt")
    async with planning(
        tmp_path, command, says("ok"), more=(sandbox,), settings=settings
    ) as hosted:
        await hosted.session.prompt("go")

        assert "seen" in results(hosted)[0]
        assert not (hosted.session.workspace.cwd / "made.txt").exists()


async def test_refining_a_plan_after_plan_mode_was_left_switches_it_on_again(
    tmp_path: Path,
) -> None:
    ui = Decider(None, REFINE, "smaller")
    async with planning(tmp_path, PROPOSES, says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("plan a cache")
        await hosted.session.prompt("/plan off")
        await hosted.session.prompt("/plan-review")
        await until(lambda: len(hosted.fixture.provider.requests) == 2)
        await hosted.session.wait_for_idle()

        assert states(hosted) == [True, False, True]
        assert "smaller" in sent(hosted)


async def test_review_without_a_plan_is_reported(tmp_path: Path) -> None:
    ui = Decider()
    async with planning(tmp_path, ui=ui) as hosted:
        await hosted.session.prompt("/plan-review")

        assert "There is no plan yet" in ui.notices[-1]
