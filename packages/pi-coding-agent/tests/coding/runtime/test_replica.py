from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.ai.messages import AssistantMessage
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.readers import Feed
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.events.session import SessionTreeEvent
from pi.coding.port.remote import FeedItem, Replica
from pi.coding.runtime.live import RemoteSessionError
from pi.coding.session.errors import SessionProblem
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.test_remote_session import FakeRemote


async def follow(feed: Feed, replica: Replica) -> None:
    """Apply all feed items so far, encoded as over a wire."""
    for _ in range(len(feed._items)):
        item = msgspec.json.decode(msgspec.json.encode(await anext(feed)))
        await replica.receive(item)


async def run_with_replica(
    tmp_path: Path,
    act: Callable[[ExtensionFixture, ExtensionFixture, Feed, Replica, FakeRemote], Awaitable[None]],
    *steps: Any,
) -> None:
    """Call ``act`` with a session and its replica."""
    apis: list[ExtensionAPI] = []
    remote = FakeRemote("prompt", "abort")
    async with (
        extension_session(tmp_path / "there", apis.append, steps=steps) as origin,
        extension_session(tmp_path / "here") as local,
    ):
        feed = apis[0].feed()
        header = msgspec.to_builtins(origin.session.entries.log.header)
        replica = await SessionControl(local.session).open_replica(header, remote)
        assert replica is not None
        await act(origin, local, feed, replica, remote)
        feed.close()


def lines(hosted: ExtensionFixture) -> list[bytes]:
    return [bytes(raw) for raw in hosted.session.info.entries()]


async def test_a_replica_has_the_lines_events_and_model_of_the_remote_session(
    tmp_path: Path,
) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        await follow(feed, replica)
        await origin.session.prompt("hello")
        await follow(feed, replica)

        assert lines(local) == lines(origin)
        assert local.session.messages == origin.session.messages
        assert local.session.session_id == origin.session.session_id
        assert local.session.session_file is None
        assert local.fixture.order == origin.fixture.order
        assert local.session.state.model == origin.session.state.model

    await run_with_replica(tmp_path, act, calls("bash", command="true"), says("hi"))


async def test_a_replica_follows_moves_in_the_tree_of_the_remote_session(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        moves: list[str | None] = []
        local.fixture.bus.subscribe(SessionTreeEvent, lambda event: moves.append(event.new_leaf_id))
        await origin.session.prompt("hello")
        (fork_point,) = origin.session.info.fork_points()
        await origin.session.tree.go_to(fork_point.entry_id)
        await origin.session.prompt("good bye")
        await follow(feed, replica)

        assert local.session.entries.log.leaf_id == origin.session.entries.log.leaf_id
        assert local.session.messages == origin.session.messages
        assert len(moves) == 2  # the snapshot, and the move itself

    await run_with_replica(tmp_path, act, says("one"), says("two"))


async def test_unknown_fields_of_a_line_are_kept(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        line = '{"type":"novelty","id":"n1","parentId":null,"timestamp":"","odd": 1.50}'
        await replica.receive(FeedItem(seq=1, kind="entry", data=line))

        assert lines(local) == [line.encode()]
        with pytest.raises(SessionProblem, match="Invalid session entry"):
            await replica.receive({"kind": "entry", "data": "[]"})
        await replica.receive({"kind": "later version", "data": 1})
        await replica.receive({"kind": "event", "data": {"type": "later event"}})

    await run_with_replica(tmp_path, act)


async def test_prompts_and_aborts_are_sent_to_the_remote_session(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        remote: FakeRemote,
    ) -> None:
        assert await local.session.prompt("hello") is None
        await local.session.steer("wait")
        await local.session.follow_up("and then")
        await local.session.abort()

        actions = ["hello None", "wait steer", "and then followUp", "abort"]
        assert remote.asked == actions
        assert local.fixture.provider.requests == []

        await local.session.new_session()
        assert remote.asked == actions  # leaving does not end the remote run
        assert replica.closed

    await run_with_replica(tmp_path, act)


async def test_other_actions_on_a_replica_are_refused(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        await origin.session.prompt("hello")
        await follow(feed, replica)
        (fork_point,) = local.session.info.fork_points()
        before = lines(local)
        for refused in (
            local.session.set_model("faux/faux"),
            local.session.set_thinking_level("high"),
            local.session.compact(),
            local.session.tree.go_to(fork_point.entry_id),
            local.session.shell.run("true"),
        ):
            with pytest.raises(RemoteSessionError):
                await refused
        with pytest.raises(SessionProblem):
            await local.session.info.rename("mine")

        assert lines(local) == before

    await run_with_replica(tmp_path, act, says("hi"))


async def test_leaving_a_replica_restores_the_previous_model(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        await origin.session.set_thinking_level("high")
        await follow(feed, replica)
        levels = [local.session.state.thinking_level]

        await local.session.new_session()
        await replica.receive({"kind": "leaf", "data": "gone"})
        local.fixture.provider.add(says("mine"))
        answer = await local.session.prompt("hello")

        assert isinstance(answer, AssistantMessage)
        assert answer.text == "mine"
        levels.append(local.session.state.thinking_level)
        assert (levels[0], levels[1] == "high") == ("high", False)
        assert local.session.session_file is not None

    await run_with_replica(tmp_path, act)


async def test_a_replica_is_busy_during_a_remote_run(tmp_path: Path) -> None:
    async def act(
        origin: ExtensionFixture,
        local: ExtensionFixture,
        feed: Feed,
        replica: Replica,
        _: FakeRemote,
    ) -> None:
        states = []
        for kind in ("agent_start", "agent_settled"):
            await replica.receive({"kind": "event", "data": {"type": kind}})
            states.append((local.session.state.is_streaming, local.session.runs.idle))

        assert states == [(True, False), (False, True)]

    await run_with_replica(tmp_path, act)


async def test_a_replica_that_was_far_behind_catches_up(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with (
        extension_session(tmp_path / "there", apis.append, steps=(says("a b c d e f"),)) as origin,
        extension_session(tmp_path / "here") as local,
    ):
        header = msgspec.to_builtins(origin.session.entries.log.header)
        replica = await SessionControl(local.session).open_replica(header, FakeRemote())
        assert replica is not None
        feed = apis[0].feed(size=3)
        await replica.receive(await anext(feed))
        await origin.session.prompt("hello")
        await follow(feed, replica)

        assert lines(local) == lines(origin)
        feed.close()


async def test_an_extension_can_prevent_opening_a_replica(tmp_path: Path) -> None:
    def loyal(pi: ExtensionAPI) -> None:
        pi.on("session_before_switch", lambda event, ctx: {"cancel": True})

    async with extension_session(tmp_path, loyal) as hosted:
        header = {"id": "x", "timestamp": "", "cwd": "/somewhere"}
        control = SessionControl(hosted.session)

        assert await control.open_replica(header, FakeRemote()) is None


async def test_a_replica_with_an_invalid_header_is_refused(tmp_path: Path) -> None:
    async with extension_session(tmp_path) as hosted:
        before = hosted.session.session_id
        with pytest.raises(SessionProblem, match="Invalid session header"):
            await SessionControl(hosted.session).open_replica({"id": 1}, FakeRemote())

        assert hosted.session.session_id == before


async def test_templates_are_not_listed_as_commands_in_a_replica(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("leave", lambda args, ctx: None)

    template = tmp_path / "home/.pi/agent/prompts/fix.md"
    template.parent.mkdir(parents=True)
    template.write_text("Fix it.")
    async with extension_session(tmp_path, extension) as hosted:
        facts = hosted.session.info
        own = ([command.name for command in facts.commands()], facts.runs_here)
        header = msgspec.to_builtins(hosted.session.entries.log.header)
        await SessionControl(hosted.session).open_replica(
            {**header, "id": "x"}, FakeRemote("prompt")
        )
        of_replica = ([command.name for command in facts.commands()], facts.runs_here)

    assert (own, of_replica) == ((["leave", "fix"], True), (["leave"], False))


async def test_commands_that_need_a_local_run_are_hidden_and_refused_in_a_replica(
    tmp_path: Path,
) -> None:
    ran: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.register_command("rebuild", lambda args, ctx: ran.append(args), needs_run_here=True)

    async with extension_session(tmp_path, extension) as hosted:
        info = hosted.session.info
        own = [command.name for command in info.commands()]
        await hosted.session.prompt("/rebuild here")
        header = msgspec.to_builtins(hosted.session.entries.log.header)
        await SessionControl(hosted.session).open_replica(
            {**header, "id": "x"}, FakeRemote("prompt")
        )
        of_replica = [command.name for command in info.commands()]
        await hosted.session.prompt("/rebuild there")
        [failure] = hosted.failures

    assert "run /rebuild" in str(failure)
    assert (own, of_replica, ran) == (["rebuild"], [], ["here"])
