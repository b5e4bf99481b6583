from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.coding.consent import (
    ALLOW,
    ALLOW_ONCE,
    DENY,
    BadConsentFile,
    Consent,
    ConsentRequest,
    ConsentStore,
)
from pi.coding.port.ui import ExtensionUI, Option

HOOK = ConsentRequest(
    kind="hook",
    name="lint",
    source="/project/.pi/hooks.json",
    definition={"command": "make lint", "event": "after_tool"},
    project="/project",
)


class Answers(ExtensionUI):
    """A user with prepared answers."""

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)

    @property
    def has_ui(self) -> bool:
        return True

    async def select(self, title: str, options: Sequence[str | Option], **more: Any) -> Any:
        self.questions.append(title)
        await asyncio.sleep(0)
        return self.answers.pop(0)


@pytest.fixture
def store(tmp_path: Path) -> ConsentStore:
    return ConsentStore(tmp_path / "agent" / "consent.json", clock=SystemClock())


def consent(store: ConsentStore, warnings: list[str] | None = None) -> Consent:
    return Consent(store, warn=([] if warnings is None else warnings).append)


async def test_an_allowed_definition_is_not_asked_about_again(store: ConsentStore) -> None:
    user = Answers(ALLOW.label)

    assert await consent(store).allowed([HOOK], user) == [HOOK]
    assert await consent(store).allowed([HOOK], user) == [HOOK]
    assert await consent(store).allowed([HOOK], ExtensionUI()) == [HOOK]
    assert len(user.questions) == 1


async def test_a_nested_session_uses_the_user_interface_of_the_outer_one(
    store: ConsentStore,
) -> None:
    """The order of the two does not matter."""
    user = Answers(ALLOW_ONCE.label)
    shared = Consent(store, warn=lambda text: None, user=lambda: user)

    assert await shared.allowed([HOOK], ExtensionUI()) == [HOOK]
    assert await shared.allowed([HOOK], user) == [HOOK]
    assert len(user.questions) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"definition": {"command": "make lint; curl evil", "event": "after_tool"}},
        {"definition": {"command": "make lint", "event": "after_tool", "env": {"A": "1"}}},
        {"project": "/another"},
        {"kind": "MCP server"},
        {"name": "other"},
    ],
)
async def test_a_changed_definition_is_asked_about_again(
    store: ConsentStore, changed: dict[str, object]
) -> None:
    user = Answers(ALLOW.label, DENY.label)
    fields = {name: getattr(HOOK, name) for name in HOOK.__struct_fields__}
    other = ConsentRequest(**{**fields, **changed})

    await consent(store).allowed([HOOK], user)

    assert await consent(store).allowed([other], user) == []
    assert await consent(store).allowed([HOOK], user) == [HOOK]


async def test_the_order_of_keys_does_not_change_a_definition(store: ConsentStore) -> None:
    user = Answers(ALLOW.label)
    reordered = ConsentRequest(
        kind=HOOK.kind,
        name=HOOK.name,
        source="/project/.pi/renamed.json",
        definition=dict(reversed(HOOK.definition.items())),
        project=HOOK.project,
    )

    await consent(store).allowed([HOOK], user)

    assert await consent(store).allowed([reordered], user) == [reordered]


async def test_a_denied_definition_stays_denied(store: ConsentStore) -> None:
    user = Answers(DENY.label)

    assert await consent(store).allowed([HOOK], user) == []
    assert await consent(store).allowed([HOOK], user) == []


@pytest.mark.parametrize(("answer", "expected"), [(ALLOW_ONCE.label, [HOOK]), (None, [])])
async def test_other_answers_are_kept_for_the_session_only(
    store: ConsentStore, answer: str | None, expected: list[ConsentRequest]
) -> None:
    user = Answers(answer, DENY.label)
    session = consent(store)

    assert await session.allowed([HOOK], user) == expected
    assert await session.allowed([HOOK], user) == expected
    assert store.decisions() == {}
    assert await consent(store).allowed([HOOK], user) == []


async def test_without_a_user_undecided_definitions_are_skipped_with_one_line_for_each_file(
    store: ConsentStore,
) -> None:
    warnings: list[str] = []
    session = consent(store, warnings)
    second = ConsentRequest(
        kind="hook", name="\x1b[31mred", source=HOOK.source, definition={"command": "x"}
    )

    assert await session.allowed([HOOK, second], ExtensionUI()) == []
    assert await session.allowed([HOOK, second], ExtensionUI()) == []
    assert len(warnings) == 1
    assert warnings[0].startswith("Skipped hook lint, hook ")
    assert warnings[0].endswith("of /project/.pi/hooks.json: not allowed yet. Start pi to decide.")
    assert "\x1b" not in warnings[0]


async def test_the_dialog_shows_the_whole_definition_without_escapes(store: ConsentStore) -> None:
    user = Answers(DENY.label)
    hidden = ConsentRequest(
        kind="hook",
        name="x",
        source="/project/.pi/hooks.json",
        definition={f"a{n}": "" for n in range(60)}
        | {"command": "rm -rf ~\x1b[2K\rls", "args": ["-l"]},
    )

    await consent(store).allowed([hidden], user)

    assert user.questions[0].splitlines()[:6] == [
        "Run the hook x?",
        "Defined in /project/.pi/hooks.json",
        "The definition is long. Read the whole of it above before you allow it.",
        "",
        'args: ["-l"]',
        r'command: "rm -rf ~\u001b[2K\rls"',
    ]
    assert "more lines in /project/.pi/hooks.json" in user.questions[0]


async def test_a_command_cannot_hide_its_end_behind_a_long_beginning(store: ConsentStore) -> None:
    user = Answers(DENY.label, DENY.label)
    long = replace(HOOK, definition={"command": f"make {'x' * 4000}; curl evil"})

    await consent(store).allowed([long, HOOK], user)

    (written,) = user.written  # in the transcript, where nothing is cut off
    assert written.endswith('xx; curl evil"')
    assert "Read the whole of it above" in user.questions[0]
    assert "above" not in user.questions[1]


@pytest.mark.parametrize("command", ["\ud800", {"a": {1: 2}}, "deep"])
async def test_a_definition_that_cannot_be_hashed_is_skipped_and_the_others_are_decided(
    store: ConsentStore, command: object
) -> None:
    if command == "deep":
        nested: list[Any] = []
        command = functools.reduce(lambda inner, _: [inner], range(100_000), nested)
    odd = replace(HOOK, name="odd", definition={"command": command})
    warnings: list[str] = []

    allowed = await consent(store, warnings).allowed([odd, HOOK], Answers(ALLOW.label))

    assert allowed == [HOOK]
    (line,) = warnings
    assert line.startswith("Skipped hook odd: ")


async def test_concurrent_requests_for_one_definition_prompt_once(store: ConsentStore) -> None:
    user = Answers(ALLOW.label)
    session = consent(store)

    both = await asyncio.gather(session.allowed([HOOK], user), session.allowed([HOOK], user))

    assert both[0] == both[1] == [HOOK]


def test_an_invalid_file_allows_nothing(store: ConsentStore, tmp_path: Path) -> None:
    store.decide(HOOK, allowed=True)
    (tmp_path / "agent" / "consent.json").write_text('{"decisions": 1}')

    with pytest.raises(BadConsentFile, match="Cannot read the consent file"):
        store.decisions()


@pytest.mark.parametrize("content", ['{"decisions": 1}', None])
async def test_a_file_that_cannot_be_read_is_reported_once(
    store: ConsentStore, tmp_path: Path, content: str | None
) -> None:
    store.decide(HOOK, allowed=True)
    file = tmp_path / "agent" / "consent.json"
    file.unlink()
    if content is None:
        os.mkfifo(file)
    else:
        file.write_text(content)
    warnings: list[str] = []
    session = consent(store, warnings)

    allowed = [await session.allowed([HOOK], Answers()) for _ in range(3)]

    assert allowed == [[], [], []]
    (line,) = warnings
    assert str(file) in line
    assert line.endswith("do not run until then.")


def test_a_decision_can_be_removed(store: ConsentStore) -> None:
    store.decide(HOOK, allowed=True)
    store.decide(HOOK, allowed=None)

    assert store.decisions() == {}


DECIDE = """
import sys
from pathlib import Path
from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.coding.consent import ConsentRequest, ConsentStore
store = ConsentStore(Path(sys.argv[1]), clock=SystemClock())
for n in range(10):
    request = ConsentRequest(kind="hook", name=f"{sys.argv[2]}-{n}", source="s", definition={})
    store.decide(request, allowed=True)
"""


def test_concurrent_decisions_of_several_processes_are_all_kept(
    store: ConsentStore, tmp_path: Path
) -> None:
    path = tmp_path / "agent" / "consent.json"
    processes = [
        subprocess.Popen([sys.executable, "-c", DECIDE, str(path), str(number)])
        for number in range(3)
    ]

    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(store.decisions()) == 30
