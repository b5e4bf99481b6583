"""``ask``: the user chooses an option, writes a text, closes the dialog, or is absent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.batteries.ask.adapter import OTHER, extension, seconds_of
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.ui import ExtensionUI, Mode
from tests.cli.program import Program
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.stories.loopback_model import LoopbackModel, loopback_model

COLOURS = [
    {"label": "Red", "description": "warm", "preview": "#f00"},
    {"label": "Blue", "description": "cold", "preview": "#00f"},
]
QUESTION: dict[str, Any] = {
    "id": "colour",
    "question": "Which colour?",
    "header": "Theme",
    "options": COLOURS,
    "recommended": 1,
}
LATE = object()


class User(ExtensionUI):
    """A user who answers in order; ``LATE`` lets a question time out."""

    has_ui = True

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any, dict[str, Any]]] = []
        self.alerts: list[str] = []

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.asked.append((title, options, more))
        return self._next(more)

    async def editor(self, title: str, prefill: str = "", **more: Any) -> Any:
        self.asked.append((title, None, more))
        return self._next(more)

    def alert(self, text: str) -> None:
        self.alerts.append(text)

    def _next(self, more: dict[str, Any]) -> Any:
        answer = self.answers.pop(0)
        return more["on_timeout"] if answer is LATE else answer


@asynccontextmanager
async def asking(
    tmp_path: Path, *steps: Step, ui: ExtensionUI, mode: Mode = "tui", **settings: Any
) -> AsyncIterator[ExtensionFixture]:
    ask_settings = {"ask": {"enabled": True, **settings}}
    async with extension_session(
        tmp_path, extension, steps=steps, settings=ask_settings, ui=ui
    ) as hosted:
        hosted.session.extensions.attach(ui, mode)
        yield hosted


async def answered(
    tmp_path: Path, *answers: Any, questions: list[Any] | None = None, **settings: Any
) -> tuple[ToolResultMessage, User]:
    user = User(*answers)
    script = (calls("ask", questions=questions or [QUESTION]), says("thanks"))
    async with asking(tmp_path, *script, ui=user, **settings) as hosted:
        await hosted.session.prompt("go")
        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert hosted.failures == []
    return result, user


def text(result: ToolResultMessage) -> str:
    return "".join(getattr(part, "text", "") for part in result.content)


async def test_a_chosen_option_is_the_answer(tmp_path: Path) -> None:
    result, user = await answered(tmp_path, "Red")

    assert text(result) == "colour: Red"
    title, options, more = user.asked[0]
    assert title == "Theme: Which colour?"
    assert [option.label for option in options] == ["Red", "Blue", OTHER]
    assert options[1].description == "recommended: cold"
    assert options[0].preview == "#f00"
    assert more["initial"] == "Blue"
    assert user.alerts == ["pi asks: Which colour?"]
    assert result.details == {
        "answers": [{"id": "colour", "question": "Which colour?", "selected": ["Red"]}]
    }


async def test_guests_of_a_shared_session_may_answer(tmp_path: Path) -> None:
    opened: list[bool] = []

    def watch(pi: ExtensionAPI) -> None:
        pi.on("ui_prompt_start", lambda event, ctx: opened.append(event.with_guests))

    script = (calls("ask", questions=[QUESTION]), says("thanks"))
    settings = {"ask": {"enabled": True}}
    async with extension_session(
        tmp_path, extension, watch, steps=script, settings=settings, ui=User(OTHER, "Green")
    ) as hosted:
        await hosted.session.prompt("go")
    assert opened == [True, True]


async def test_other_opens_an_editor_and_escape_there_returns_to_the_options(
    tmp_path: Path,
) -> None:
    result, user = await answered(tmp_path, OTHER, None, OTHER, "Green, please")

    assert text(result) == "colour: the user wrote: Green, please"
    assert [options is None for _, options, _ in user.asked] == [False, True, False, True]


async def test_several_options_and_a_text(tmp_path: Path) -> None:
    result, user = await answered(
        tmp_path, ["Red", OTHER], "and gold", questions=[{**QUESTION, "multi": True}]
    )

    assert text(result) == "colour: Red; the user wrote: and gold"
    assert user.asked[0][2]["initial"] == ["Blue"]


async def test_a_closed_question_ends_the_run(tmp_path: Path) -> None:
    two = [QUESTION, {"id": "name", "question": "What name?"}]
    result, _ = await answered(tmp_path, "Red", None, questions=two)

    assert text(result).startswith("colour: Red\nThe user closed the question")
    assert isinstance(result.details, dict)
    assert result.details["dismissed"] == "name"


async def test_the_recommended_option_is_returned_after_the_timeout(tmp_path: Path) -> None:
    result, user = await answered(tmp_path, LATE, timeout=30)

    assert "Blue (no answer in time" in text(result)
    assert user.asked[0][2]["timeout"] == 30


@pytest.mark.parametrize(("value", "seconds"), [(0, None), (45, 45), (45_000, 45), (-1, None)])
def test_an_old_time_limit_is_in_milliseconds(value: float, seconds: float | None) -> None:
    assert seconds_of(value) == seconds


async def test_notices_can_be_switched_off(tmp_path: Path) -> None:
    _, user = await answered(tmp_path, "Red", notify=False)

    assert user.alerts == []


@pytest.mark.parametrize(
    "questions",
    [
        [QUESTION, QUESTION],
        [{**QUESTION, "options": [COLOURS[0], COLOURS[0]]}],
        [{**QUESTION, "recommended": 7}],
    ],
)
async def test_invalid_questions_are_rejected(tmp_path: Path, questions: list[Any]) -> None:
    result, user = await answered(tmp_path, questions=questions)

    assert result.is_error
    assert user.asked == []


async def test_the_tool_is_not_active_without_a_user(tmp_path: Path) -> None:
    async with asking(tmp_path, ui=ExtensionUI(), mode="print") as hosted:
        assert "ask" not in hosted.session.tools.active_names


# The real program --------------------------------------------------------------------------------


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    program.write("settings.json", json.dumps({"ask": {"enabled": True}}))
    return program


def test_print_mode_does_not_declare_the_tool(cli: Program, model: LoopbackModel) -> None:
    ended = cli.run("--model", "mock/echo-1", "-p", "go")

    assert ended.code == 0
    assert '"ask"' not in model.requests[0]


@pytest.mark.behaviour("ask-over-rpc")
def test_over_rpc_a_question_is_sent_as_a_ui_request(cli: Program, model: LoopbackModel) -> None:
    model.tools = [("ask", {"questions": [QUESTION]})]
    child = cli.start("--model", "mock/echo-1", "--mode", "rpc")
    assert child.stdin is not None and child.stdout is not None
    requests = []
    with child:
        child.stdin.write(b'{"type": "prompt", "message": "go"}\n')
        child.stdin.flush()
        for line in child.stdout:
            record = json.loads(line)
            if record.get("method") == "select":
                requests.append(record)
                answer = {"type": "extension_ui_response", "id": record["id"], "value": "Red"}
                child.stdin.write(json.dumps(answer).encode() + b"\n")
                child.stdin.flush()
            if record["type"] == "agent_settled":
                break
        child.stdin.close()
        child.wait(30)

    (request,) = requests
    assert request["options"] == ["Red", "Blue", OTHER]
    assert request["previews"] == ["#f00", "#00f", ""]
    assert "colour: Red" in model.requests[1]
