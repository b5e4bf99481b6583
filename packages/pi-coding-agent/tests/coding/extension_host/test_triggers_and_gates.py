"""Extensions that files, variables, settings and shared objects load, and gates they declare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.trust import TrustChoice
from tests.coding.extension_host.deferred import STARTED, kit, sent_texts
from tests.coding.runtime.session_fixture import SessionFixture

SERVERS = """\
activate = ["file:.mcp.json", "setting:servers"]
gates = [".mcp.json"]
"""


class Asked:
    """A user who answers questions about trust; records the names of the files."""

    def __init__(self, *, trusted: bool) -> None:
        self._trusted = trusted
        self.named: list[str] = []

    async def __call__(self, folder: Path, gated: Sequence[Path]) -> TrustChoice:
        self.named += (path.name for path in gated)
        return TrustChoice(trusted=self._trusted, directory=folder)


def is_trusted(session: AgentSession) -> bool:
    return session.workspace.is_trusted


async def test_a_gate_of_an_enabled_extension_needs_trust(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, SERVERS, STARTED)
    fixture.write("project/.mcp.json", "{}")

    async with await fixture.open() as session:
        await session.start()

        assert not is_trusted(session)
        assert sent_texts(session) == []
    assert fixture.reports == [
        f"Not trusted, so not loaded by pi itself: {fixture.cwd / '.mcp.json'}. Tools may still"
        " read them. Use --approve to allow it once."
    ]


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_user_is_asked_about_a_gate_and_sees_its_name(
    tmp_path: Path, trusted: bool
) -> None:
    fixture, asked = SessionFixture(tmp_path), Asked(trusted=trusted)
    kit(fixture, SERVERS, STARTED)
    fixture.write("project/.mcp.json", "{}")

    async with await fixture.open(ask_trust=asked) as session:
        await session.start()

        assert asked.named == [".mcp.json"]
        assert is_trusted(session) is trusted
        assert sent_texts(session) == (["startup"] if trusted else [])


@pytest.mark.parametrize(
    "manifest",
    ['activate = ["setting:servers"]\ngates = [".mcp.json"]', 'activate = ["file:other.json"]'],
    ids=["not enabled", "no gate"],
)
async def test_without_an_enabled_extension_the_file_needs_no_trust(
    tmp_path: Path, manifest: str
) -> None:
    fixture, asked = SessionFixture(tmp_path), Asked(trusted=False)
    kit(fixture, manifest, STARTED)
    fixture.write("project/.mcp.json", "{}")

    async with await fixture.open(ask_trust=asked) as session:
        assert is_trusted(session)
    assert asked.named == []


async def test_a_gate_that_appears_during_a_session_ends_the_trust(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, SERVERS, STARTED)
    async with await fixture.open(settings={"servers": True}) as session:
        await session.start()
        assert is_trusted(session)

        fixture.write("project/.mcp.json", "{}")

        assert not is_trusted(session)


@pytest.mark.parametrize("gate", ["/etc/passwd", "../other", ""])
async def test_an_invalid_gate_path_is_reported(tmp_path: Path, gate: str) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, f"gates = [{gate!r}]", "")
    async with await fixture.open():
        pass

    assert f"Invalid gate {gate!r}" in fixture.reports[0]


@pytest.mark.parametrize(
    ("trigger", "file"),
    [
        ("file:.servers", "project/.servers"),
        ("file:~/.servers", ".servers"),
        ("file:~/.pi/agent/servers.json", ".pi/agent/servers.json"),
        ("env:SERVERS", "project/.env"),
    ],
)
async def test_a_file_or_a_variable_loads_an_extension(
    tmp_path: Path, trigger: str, file: str
) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, f'activate = ["{trigger}"]', STARTED)
    async with await fixture.open(approve=True) as session:
        await session.start()
        assert sent_texts(session) == []

        fixture.write(file, "SERVERS=1")
        await session.sessions.reload()

        assert sent_texts(session) == ["reload"]


async def test_a_setting_loads_an_extension_before_the_model_is_chosen(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    body = """\
fast = pi.settings.get("roles")["fast"]
pi.models.add_resolver(lambda name: fast if name == "fast" else None)
"""
    kit(fixture, 'activate = ["setting:roles"]', body)
    settings = {"roles": {"fast": "faux/faux"}}

    async with await fixture.open(model="fast", settings=settings) as session:
        assert session.model is not None
        assert session.model.id == "faux"
    assert fixture.reports == []


async def test_a_shared_object_loads_its_extension_in_the_next_session(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    body = """\
async def room(scope):
    return []

@pi.command("host")
async def host(args, ctx):
    await pi.shared("room", room, linger=60)

@pi.on("session_start")
async def begin(event, ctx):
    guests = await pi.shared("room", room, linger=60)
    guests.append(event.reason)
    await pi.send_message({"custom_type": "room", "content": " ".join(guests)})
"""
    kit(fixture, 'activate = ["command:host", "shared:room"]', body)
    async with await fixture.open() as session:
        await session.start()
        await session.sessions.new()
        assert sent_texts(session) == []

        await session.prompt("/host")
        await session.sessions.new()
        await session.sessions.new()

        assert sent_texts(session) == ["new new"]
        await fixture.clock.advance(60)


async def test_an_extension_that_fails_at_its_trigger_is_reported(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, 'activate = ["env:LANG"]', "raise ValueError('no servers')")
    async with await fixture.open() as session:
        await session.start()

    assert ["no servers" in text for text in fixture.reports] == [True]
