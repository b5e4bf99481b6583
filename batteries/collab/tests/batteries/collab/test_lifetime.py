"""Start and end of sharing: rooms, joining, leaving, and the sessions afterwards."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pi.testing import says
from tests.batteries.collab.sessions import LONG, Gate, person, relay_running, texts, until
from tests.sampling import sampled


@pytest.mark.behaviour("an-old-link-never-shows-another-session")
async def test_another_session_is_shared_only_if_the_host_agrees(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One."), says("Two.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        hanna.ui.choice = "Stay in this session"
        assert (await hanna.session.sessions.new()).cancelled
        assert "shared with 1 guest" in hanna.ui.questions[-1]
        hanna.ui.choice = "Share the other session, too"
        user = json.loads(hanna.lines[-2])["id"]
        assert not (await hanna.session.sessions.fork(user)).cancelled
        header = hanna.session.entries.log.header
        await until(lambda: gus.session.entries.log.header.id == header.id)
        await hanna.session.prompts.prompt("Again.")
        await until(lambda: gus.file == hanna.file)
        assert texts(gus) == ["Again.", "Two."]
        hanna.ui.choice = "Stop sharing"
        await hanna.session.sessions.new()
        assert hanna.sharing.host is None
        await until(lambda: gus.session.info.runs_here)
        assert any("another session" in each for each in gus.ui.notices)


@pytest.mark.full
@pytest.mark.behaviour("short-network-changes-do-not-end-rooms")
async def test_the_relay_is_killed_in_the_middle_of_a_stream_and_both_resume(
    tmp_path: Path,
) -> None:
    gate = Gate()
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says(LONG), says("End."), more=(gate.extension,)) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.run(f"/collab {relay.address}")
        await gus.join(hanna.link())
        gate.close(after=100)
        running = asyncio.create_task(hanna.session.prompts.prompt("Go."))
        await gate.reached.wait()
        await until(lambda: not gus.session.runs.idle)
        await relay.stop()
        host, guest = hanna.sharing.host, gus.sharing.guest
        assert host is not None
        assert guest is not None
        await until(lambda: not host.client.is_open and not guest.client.is_open)
        epoch = host.room.epoch
        gate.open.set()
        await running  # the host continues without a relay
        assert "reconnecting" in str(gus.ui.status["collab"])
        sending = asyncio.create_task(gus.session.prompts.prompt("Typed meanwhile."))
        await relay.start()
        await until(lambda: guest.room.state == "live")
        await sending
        await until(lambda: texts(hanna)[-1] == "End.")
        await until(lambda: gus.file == hanna.file)
        assert host.room.epoch != epoch
        assert texts(hanna).count("gus:Typed meanwhile.") == 1
        assert gus.session.runs.idle


async def test_a_guest_returns_to_its_own_session_when_the_host_stops_sharing(
    tmp_path: Path,
) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One.")) as hanna,
        person(tmp_path, "gus", says("Mine.")) as gus,
    ):
        await gus.session.prompts.prompt("My own.")
        own = gus.lines
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        link = hanna.link()
        await gus.join(link)
        await hanna.run("/collab stop")
        await until(lambda: gus.session.info.runs_here)
        assert gus.lines == own
        assert any("stopped sharing" in each for each in gus.ui.notices)
        assert relay.relay is not None
        assert len(relay.relay.rooms) == 0
        await gus.run(f"/join {link}")
        assert gus.session.info.runs_here
        await hanna.run("/collab status")
        assert "not shared" in hanna.ui.texts[-1]


async def test_a_guest_leaves_and_opens_other_sessions(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One.")) as hanna,
        person(tmp_path, "gus", says("Mine.")) as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        host = hanna.sharing.host
        assert host is not None
        await gus.join(hanna.link())
        await gus.run("/leave")
        assert gus.session.info.runs_here
        await until(lambda: len(host.room.participants) == 1)
        await gus.join(hanna.link())
        await gus.session.sessions.new()
        await until(lambda: len(host.room.participants) == 1)
        assert gus.sharing.guest is None
        await gus.session.prompts.prompt("Here.")
        assert texts(hanna) == ["First.", "One."]


async def test_two_starts_at_once_make_one_room(tmp_path: Path) -> None:
    async with relay_running() as relay, person(tmp_path, "hanna") as hanna:
        await asyncio.gather(*(hanna.run(f"/collab {relay.address}") for _ in range(3)))
        assert relay.relay is not None
        assert len(relay.relay.rooms) == 1


async def test_without_a_configured_relay_the_host_starts_a_local_one(tmp_path: Path) -> None:
    async with (
        person(tmp_path, "hanna", says("One.")) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run("/collab")
        assert "Only this machine" in hanna.ui.texts[-1]
        assert hanna.link().startswith("ws://127.0.0.1:")
        await gus.join(hanna.link())
        assert gus.lines == hanna.lines
        await hanna.run("/collab status")
        assert "gus (can write)" in hanna.ui.texts[-1]


@pytest.mark.parametrize(
    ("command", "problem"),
    sampled(
        [
            ("/collab nonsense", "Unknown action nonsense"),
            ("/collab ws://relay.example.com", "without TLS"),
            ("/collab 127.0.0.1:9", "cannot be reached"),
            ("/collab stop", "not shared"),
            ("/leave", "not in a shared session"),
            ("/join", "needs a link"),
            ("/join relay.example.com/r/x", "not a link"),
            ("/join ROOM#KEY", "names no relay"),
        ],
        keep=3,
    ),
)
async def test_errors_are_reported_in_one_line(tmp_path: Path, command: str, problem: str) -> None:
    failures: list[str] = []
    async with person(tmp_path, "hanna") as hanna:

        def note(event: Any) -> None:
            if type(event).__name__ == "ExtensionFailed":
                failures.append(event.error)

        hanna.session.subscribe(note)
        await hanna.run(command)
        shown = " ".join([*failures, *hanna.ui.notices])
        assert problem in shown


async def test_a_prompt_typed_while_joining_is_not_run_by_the_guest(tmp_path: Path) -> None:
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", says("One.")) as hanna,
        person(tmp_path, "gus", says("Never.")) as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        host = hanna.sharing.host
        assert host is not None
        greet, waiting = host.room.on_hello, asyncio.Event()
        host.room.on_hello = lambda peer: waiting.set()  # the host does not answer yet
        joining = asyncio.create_task(gus.join(hanna.link()))
        await waiting.wait()
        await gus.session.prompts.prompt("For the host.")
        assert gus.ui.editor_text == "For the host."
        host.room.on_hello = greet
        for peer in host.room.peers.values():
            greet(peer)
        await joining
        assert texts(gus) == ["First.", "One."]


@pytest.mark.parametrize("how", ["view", "control", "off"])
async def test_sessions_are_shared_automatically_by_setting(tmp_path: Path, how: str) -> None:
    async with relay_running() as relay:
        agent_dir = tmp_path / "hanna" / "home" / ".pi" / "agent"
        agent_dir.mkdir(parents=True)
        settings = {"collab": {"autoStart": how, "relayUrl": relay.address}}
        (agent_dir / "settings.json").write_text(json.dumps(settings))
        async with person(tmp_path, "hanna") as hanna:
            shown = "".join(hanna.ui.texts)
            if how == "off":
                assert not hanna.sharing.is_hosting
                return
            await until(lambda: hanna.sharing.is_hosting)
            shown = "".join(hanna.ui.texts)
            code = hanna.link(view=how == "view").partition("/r/")[2]
            links = [line for line in shown.splitlines() if "/#" in line]
            assert [link.partition("/#")[2] for link in links] == [code]


async def test_the_full_link_is_shown_if_automatic_sharing_changes_from_view_to_control(
    tmp_path: Path,
) -> None:
    async with relay_running() as relay:
        agent_dir = tmp_path / "hanna" / "home" / ".pi" / "agent"
        agent_dir.mkdir(parents=True)
        settings = {"collab": {"autoStart": "view", "relayUrl": relay.address}}
        (agent_dir / "settings.json").write_text(json.dumps(settings))
        async with person(tmp_path, "hanna") as hanna:
            await until(lambda: any("/#" in text for text in hanna.ui.texts))
            code = hanna.link(view=False).partition("/r/")[2]
            assert not any(code in text for text in hanna.ui.texts)
            hanna.session.settings.set({"collab.autoStart": "control"})
            await until(lambda: any(code in text for text in hanna.ui.texts))
