"""Roles select models: on the command line, when cycling, for pictures, in lists and commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Step, says
from pi.base.records import replace
from pi.batteries.model_roles.adapter import extension
from pi.coding.models.starting import UnknownModel
from pi.coding.port.ui import ExtensionUI
from pi.extension import ExtensionAPI
from pi.testing import ScriptedProvider
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.session_fixture import SessionFixture

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


class User(ExtensionUI):
    """Answers in order."""

    has_ui = True

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.options: list[Any] = []
        self.notices: list[str] = []

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.options.append([getattr(each, "label", each) for each in options])
        return self.answers.pop(0)

    async def select_model(self, title: str) -> Any:
        return self.answers.pop(0)

    def notify(self, message: str, kind: Any = None) -> None:
        self.notices.append(message)


def model(id: str, **more: Any) -> Model:
    return replace(FAUX_MODEL, id=id, provider="faux", **{"reasoning": True, **more})


MODELS = (
    model("plain", input=("text",)),
    model("small", input=("text",)),
    model("big", input=("text",)),
    model("eyes", input=("text", "image")),
)


@asynccontextmanager
async def roles(
    tmp_path: Path,
    *steps: Step,
    roles: dict[str, Any] | None = None,
    ui: ExtensionUI | None = None,
    start: str | None = "faux/plain",
    flags: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[ExtensionFixture, ScriptedProvider]]:
    provider = ScriptedProvider(*steps, models=MODELS)

    def offer(pi: ExtensionAPI) -> None:
        pi.register_provider(provider)

    environ = more.pop("environ", {})
    settings = {"modelRoles": roles or {}, **more}
    async with extension_session(
        tmp_path,
        offer,
        extension,
        settings=settings,
        model=start,
        environ=environ,
        extension_options={"flags": flags or {}},
    ) as hosted:
        hosted.session.extensions.attach(ui or User(), "tui")
        yield hosted, provider
        assert hosted.failures == []


def used(hosted: ExtensionFixture) -> tuple[str, str]:
    models = hosted.session.models
    assert models.current is not None
    return models.current.id, models.thinking_level


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("@smol", ("small", "low")),
        ("pi/smol", ("small", "low")),
        ("@smol:high", ("small", "high")),
        ("@plan", ("big", "high")),  # two steps: plan refers to slow
        ("@review", ("big", "low")),
    ],
)
async def test_a_role_names_the_model_at_the_start(
    tmp_path: Path, pattern: str, expected: tuple[str, str]
) -> None:
    configured = {
        "smol": "faux/small:low",
        "slow": "nope/nothing, faux/big:high",
        "plan": "@slow",
        "review": "@slow:low",
    }
    async with roles(tmp_path, roles=configured, start=pattern) as (hosted, _):
        assert used(hosted) == expected


async def test_flags_and_variables_set_roles_for_one_run(tmp_path: Path) -> None:
    async with roles(
        tmp_path,
        start="@smol",
        flags={"smol": "faux/small"},
        environ={"PI_SMOL_MODEL": "faux/big", "PI_SLOW_MODEL": "faux/big:low"},
    ) as (hosted, _):
        assert used(hosted)[0] == "small"
        await hosted.session.models.select("@slow")
        assert used(hosted) == ("big", "low")


async def test_the_default_role_is_the_model_of_new_sessions(tmp_path: Path) -> None:
    async with roles(tmp_path, roles={"default": "faux/big:low"}, start=None) as (hosted, _):
        assert used(hosted) == ("big", "low")


@pytest.mark.behaviour("role-cycling-keeps-levels")
async def test_cycling_keeps_the_level_of_each_role(tmp_path: Path) -> None:
    configured = {
        "default": "faux/plain:medium",
        "smol": "faux/small:low",
        "slow": "faux/plain:high",
    }
    async with roles(
        tmp_path, roles=configured, cycleOrder=["smol", "default", "slow"], start=None
    ) as (hosted, _):
        seen = []
        for _ in range(4):
            assert await hosted.session.models.cycle() is not None
            seen.append(used(hosted))

    assert seen == [("plain", "high"), ("small", "low"), ("plain", "medium"), ("plain", "high")]


async def test_a_prompt_with_a_picture_is_sent_to_the_model_of_the_vision_role(
    tmp_path: Path,
) -> None:
    ui = User()
    async with roles(
        tmp_path, says("a cat"), says("fine"), roles={"vision": "faux/eyes"}, ui=ui
    ) as (hosted, provider):
        picture = Image(data=PIXEL, mime_type="image/png")
        await hosted.session.prompt("what is it?", images=(picture,))
        await hosted.session.prompt("thanks")

        assert [call.model.id for call in provider.requests] == ["eyes", "plain"]
        assert ui.notices == ["faux/eyes looks at the picture (role vision)."]
        assert used(hosted)[0] == "plain"


async def test_a_model_that_supports_images_needs_no_vision_role(tmp_path: Path) -> None:
    async with roles(tmp_path, says("a cat"), roles={"vision": "faux/big"}, start="faux/eyes") as (
        hosted,
        provider,
    ):
        await hosted.session.prompt("?", images=(Image(data=PIXEL, mime_type="image/png"),))
        assert [call.model.id for call in provider.requests] == ["eyes"]


async def test_the_command_assigns_a_model_and_a_level_to_a_role(tmp_path: Path) -> None:
    ui = User("smol", MODELS[1], "low", "slow", MODELS[2], "inherit")
    async with roles(tmp_path, ui=ui) as (hosted, _):
        await hosted.session.prompt("/roles")
        await hosted.session.prompt("/roles")

        saved = hosted.session.settings.layer("user", ("modelRoles",))
        assert saved == {"smol": "faux/small:low", "slow": "faux/big"}
        assert ui.options[1][0] == "inherit"
        ui.answers = ["Remove the model"]
        await hosted.session.prompt("/roles smol")
        assert hosted.session.settings.layer("user", ("modelRoles",)) == {"slow": "faux/big"}


async def test_switching_saves_nothing(tmp_path: Path) -> None:
    ui = User(MODELS[2])
    async with roles(tmp_path, roles={"smol": "faux/small:low"}, ui=ui) as (hosted, _):
        await hosted.session.prompt("/switch @smol")
        assert used(hosted) == ("small", "low")
        await hosted.session.prompt("/switch")
        assert used(hosted)[0] == "big"
        await hosted.session.prompt("/switch nothing-like-this")
        assert "Model not found" in ui.notices[-1]

        assert hosted.session.settings.layer("user", ("defaultModel",)) is None


async def test_the_model_list_shows_roles_and_recently_used_models(tmp_path: Path) -> None:
    async with roles(tmp_path, roles={"smol": "faux/small", "tiny": "@smol"}) as (hosted, _):
        for name in ("faux/big", "faux/small", "faux/big"):
            await hosted.session.models.select(name)

        notes = hosted.session.models.notes
        assert notes.badges == {"faux/small": ("smol", "tiny")}
        assert notes.used[:2] == ("faux/big", "faux/small")


async def test_roles_that_refer_to_each_other_fall_back_to_the_session_model(
    tmp_path: Path,
) -> None:
    ui = User(None)
    async with roles(tmp_path, roles={"smol": "@slow", "slow": "@smol"}, ui=ui) as (hosted, _):
        await hosted.session.prompt("/switch @smol")
        # Falls back to the model of the session, so that background work always has one.
        assert used(hosted)[0] == "plain"


async def test_a_role_discovers_a_local_server_that_was_not_queried_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    apis: list[ExtensionAPI] = []
    async with extension_session(
        tmp_path, apis.append, extension, settings={"modelRoles": {"smol": "faux/late:low"}}
    ) as hosted:
        registry = hosted.session.models.registry

        async def discover() -> bool:
            apis[0].register_provider(ScriptedProvider(models=(FAUX_MODEL, model("late"))))
            return True

        monkeypatch.setattr(registry, "is_undiscovered", lambda name: name == "faux")
        monkeypatch.setattr(registry, "discover_local", discover)
        resolved = await apis[0].models.for_role("smol")
        found += [(each.model.id, each.thinking) for each in resolved.models]

    assert found[0] == ("late", "low")
    assert found[-1][0] == "faux"  # the last fallback is the model of the session


async def test_a_role_without_a_model_does_not_match_models_of_a_similar_name(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)

    with pytest.raises(UnknownModel, match="@smol") as raised:
        await fixture.open(model="@smol")
    assert "modelRoles.smol" in raised.value.hint
    assert fixture.registry.resolve("@smol:high") is None
