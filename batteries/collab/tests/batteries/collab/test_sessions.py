"""Whole sessions: a host and guests over a real relay."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.testing import calls, says
from tests.batteries.collab.sessions import LONG, Gate, person, relay_running, texts, until


async def test_a_guest_has_the_log_of_the_host_byte_for_byte(tmp_path: Path) -> None:
    steps = (says("Hello there."), calls("bash", command="echo out"), says("Done."), says("Yes."))
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        assert "pi join" in hanna.ui.texts[-1]
        await gus.join(hanna.link())
        assert gus.lines == hanna.lines
        await hanna.session.prompts.prompt("Run it.")
        await gus.session.prompts.prompt("And then?")
        await until(lambda: texts(hanna)[-1] == "Yes.")
        assert texts(hanna)[-2:] == ["gus:And then?", "Yes."]
        await until(lambda: gus.file == hanna.file)
        assert gus.lines == hanna.lines
        assert not gus.session.info.runs_here
        path = gus.session.entries.log.file
        assert path is not None
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        guest = gus.sharing.guest
        assert guest is not None
        await until(lambda: [p["name"] for p in guest.participants] == ["hanna", "gus"])
        assert "can write" in hanna.ui.notices[-1]


@pytest.mark.behaviour("view-only-guests-cannot-act")
async def test_a_guest_without_a_user_name_is_not_called_host(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", user="") as hanna,
        person(tmp_path, "gus", user="") as gus,
    ):
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        host = hanna.sharing.host
        assert host is not None
        assert [each.name for each in host.room.participants] == ["host", "guest"]


async def test_a_view_only_guest_reads_and_cannot_write(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), says("Two.")) as hanna,
        person(tmp_path, "vic") as vic,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab view {relay.address}")
        assert hanna.link() not in hanna.ui.texts[-1]
        await vic.join(hanna.link(view=True))
        with pytest.raises(PiError, match="view-only"):
            await vic.session.prompts.prompt("Let me.")
        vic.session.runs.abort()
        guest = vic.sharing.guest
        assert guest is not None
        # A client that ignores its link is refused by the host.
        guest.room._send({"t": "prompt", "id": "1", "text": "Let me!"}, prove=False)
        guest.client.wake()
        host = hanna.sharing.host
        assert host is not None
        await until(lambda: host.room.rejected)
        await hanna.session.prompts.prompt("Second.")
        await until(lambda: vic.lines == hanna.lines)
        assert texts(hanna) == ["First.", "One.", "Second.", "Two."]
        assert "view only" in str(vic.ui.status["collab"])


@pytest.mark.behaviour("guests-join-in-the-middle-of-an-answer")
async def test_a_guest_who_joins_during_a_response_receives_it_without_gaps(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says(LONG), more=(gate.extension,)) as hanna,
        person(tmp_path, "early") as early,
        person(tmp_path, "late") as late,
    ):
        await hanna.run(f"/collab {relay.address}")
        await early.join(hanna.link())
        seen: dict[str, list[Any]] = {"early": [], "late": []}
        early.session.subscribe(seen["early"].append)
        late.session.subscribe(seen["late"].append)
        gate.close(after=100)
        running = asyncio.create_task(hanna.session.prompts.prompt("Go."))
        await gate.reached.wait()
        await late.join(hanna.link(view=True))

        def partial() -> str:
            starts = [e.message for e in seen["late"] if type(e).__name__ == "MessageStart"]
            found = [each for each in starts if type(each).__name__ == "AssistantMessage"]
            return "".join(b.text for b in found[-1].content) if found else ""

        await until(lambda: "word50" in partial())
        at_join = partial()
        assert LONG.startswith(at_join.rstrip())
        gate.open.set()
        await running
        await until(lambda: late.lines == hanna.lines == early.lines)

        def streamed(events: list[Any]) -> str:
            found = [e for e in events if type(e).__name__ == "MessageUpdate"]
            inner = [e.assistant_message_event for e in found]
            return "".join(e.delta for e in inner if type(e).__name__ == "TextDelta")

        assert streamed(seen["early"]) == LONG
        assert at_join + streamed(seen["late"]) == LONG, "nothing twice, nothing missing"
        updates = [e for e in seen["early"] if type(e).__name__ == "MessageUpdate"]
        assert len(updates) < 100, "growing texts are merged"


async def test_guests_steer_and_abort(tmp_path: Path) -> None:
    gate = Gate()
    steps = (says(LONG), says("Steered."), says(LONG), says("Later."))
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps, more=(gate.extension,)) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        gate.close(after=20)
        running = asyncio.create_task(hanna.session.prompts.prompt("Go."))
        await gate.reached.wait()
        await until(lambda: not gus.session.runs.idle)
        await gus.session.prompts.steer("Left!")
        gate.open.set()
        await running
        await until(lambda: gus.session.runs.idle)
        assert texts(hanna)[-2:] == ["gus:Left!", "Steered."]
        gate.close(after=20)
        running = asyncio.create_task(hanna.session.prompts.prompt("Again."))
        await gate.reached.wait()
        await until(lambda: not gus.session.runs.idle)
        gus.session.runs.abort()
        await until(lambda: hanna.session.runs.idle)
        gate.open.set()
        await running
        await until(lambda: gus.session.runs.idle and gus.lines == hanna.lines)
        assert json.loads(hanna.lines[-1])["message"]["stopReason"] == "aborted"


async def test_compaction_and_moves_in_the_tree_are_applied_at_guests(tmp_path: Path) -> None:
    steps = (
        *(says(f"Answer {n}. {LONG}") for n in range(4)),
        says("## Summary\nAll."),
        says("All."),
    )
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        for number in range(4):
            await hanna.session.prompts.prompt(f"Question {number}. {LONG}")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        first = json.loads(hanna.lines[-3])["id"]
        await hanna.session.tree.go_to(first)
        log = gus.session.entries.log
        await until(lambda: log.leaf_id == hanna.session.entries.log.leaf_id)
        hanna.session.settings.override({"compaction.keepRecentTokens": 50})
        await hanna.session.compaction.compact()
        await until(lambda: gus.file == hanna.file)
        assert json.loads(gus.lines[-1])["type"] == "compaction"
        assert log.leaf_id == hanna.session.entries.log.leaf_id


@pytest.mark.behaviour("guest-dialog-resolves")
async def test_guests_with_write_access_can_answer_dialogs(tmp_path: Path) -> None:
    state: dict[str, ExtensionAPI] = {}
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("x"), more=(lambda pi: state.update(pi=pi),)) as hanna,
        person(tmp_path, "gus") as gus,
        person(tmp_path, "vic") as vic,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        await vic.join(hanna.link(view=True))
        host = hanna.sharing.host
        assert host is not None
        await until(lambda: len(host.room.writers) == 1 and len(host.room.participants) == 3)
        hanna.ui.waits = asyncio.get_running_loop().create_future()
        gus.ui.choice = "Blue"
        ui = state["pi"].context.ui
        answer = await ui.with_guests.select("Which colour?", ["Red", "Blue"])
        assert answer == "Blue"
        assert "Which colour?" in gus.ui.questions[0]
        assert vic.ui.questions == []
        # The host answers: the dialog of the guest closes.
        gus.ui.waits = asyncio.get_running_loop().create_future()
        hanna.ui.waits = asyncio.get_running_loop().create_future()
        asked = asyncio.create_task(ui.with_guests.select("Again?", ["Red", "Blue"]))
        await until(lambda: len(gus.ui.questions) == 2)
        hanna.ui.waits.set_result("Red")
        assert await asked == "Red"
        guest = gus.sharing.guest
        assert guest is not None
        await until(lambda: not guest._dialogs)


@pytest.mark.behaviour("guests-see-only-questions-for-guests")
async def test_a_dialog_for_the_host_only_cannot_be_answered_by_guests(tmp_path: Path) -> None:
    state: dict[str, Any] = {}

    def watch(pi: ExtensionAPI) -> None:
        state["pi"] = pi
        pi.on("ui_prompt_start", lambda event, ctx: state.update(id=event.id))

    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("x"), more=(watch,)) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        host, guest = hanna.sharing.host, gus.sharing.guest
        assert host is not None
        assert guest is not None
        await until(lambda: host.room.writers)
        hanna.ui.waits = asyncio.get_running_loop().create_future()
        ui = state["pi"].context.ui
        asked = asyncio.create_task(ui.select("Share this session?", ["Yes", "No"]))
        await until(lambda: hanna.ui.questions)
        # A guest that guesses the id is refused.
        guest.room.write({"t": "ui-response", "id": state["id"], "value": "Yes"})
        guest.client.wake()
        later = asyncio.create_task(guest.request_as("other", {"t": "ui-response", "value": "Yes"}))
        with pytest.raises(PiError, match="not open any more"):
            await later
        assert not asked.done()
        assert gus.ui.questions == []
        hanna.ui.waits.set_result("No")
        assert await asked == "No"


async def test_secrets_are_redacted_also_when_they_are_streamed_in_pieces(tmp_path: Path) -> None:
    secret = "sk-" + "ab1" * 16

    def redactor(pi: ExtensionAPI) -> None:
        pi.add_redactor(lambda text, sink: text.replace(secret, "[hidden]"))

    words = f"The key is {secret[:9]}"
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says(f"{words}{secret[9:]} indeed."), more=(redactor,)) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        events: list[str] = []
        gus.session.subscribe(lambda event: events.append(repr(event)))
        await hanna.session.prompts.prompt("Go.")
        await until(lambda: len(gus.lines) == len(hanna.lines))
        assert secret not in b"".join(gus.lines).decode()
        assert secret in b"".join(hanna.lines).decode()
        assert all(secret[:9] not in each for each in events)


@pytest.mark.behaviour("the-relay-sees-no-plaintext")
async def test_no_data_received_by_a_real_relay_contains_plaintext_or_keys(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("The answer is forty-two.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        assert relay.relay is not None
        rooms, seen = relay.relay.rooms, []
        for name in ("from_host", "from_guest", "host_text", "open", "join"):
            forward = getattr(rooms, name)

            def record(*given: Any, forward: Any = forward, **more: Any) -> Any:
                seen.append(repr((given, more)).encode() + b"".join(_bytes(given)))
                return forward(*given, **more)

            monkey = pytest.MonkeyPatch()
            monkey.setattr(rooms, name, record)
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        await gus.session.prompts.prompt("What is the question?")
        await until(lambda: len(gus.lines) == len(hanna.lines) and hanna.session.runs.idle)
        host = hanna.sharing.host
        assert host is not None
        everything = b"".join(seen)
        keys = host.link.keys
        assert len(everything) > 5000
        for needle in (b"forty-two", b"question", b"hanna", b"gus", keys.key, keys.token):
            assert needle not in everything
        assert host.link.code.rpartition(".")[2].encode() not in everything


def _bytes(values: Any) -> list[bytes]:
    return [value for value in values if isinstance(value, bytes)]
