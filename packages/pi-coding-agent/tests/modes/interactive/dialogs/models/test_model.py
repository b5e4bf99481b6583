"""Choosing a model on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.models.updated_catalog import UpdatedCatalog
from pi.ai.providers.chosen_servers import ServerChoice, ServerStatus
from pi.ai.providers.socket_owner import Owner, ServerAddress
from pi.coding.port.results import ModelNotes
from pi.modes.interactive.dialogs.model_catalogue import known_models
from pi.modes.interactive.dialogs.model_picker import (
    ModelChoice,
    PickedModel,
    may_ask_server,
    pick_model,
)
from tests.modes.interactive.dialogs.models.samples import (
    GPT,
    HAIKU,
    LLAMA,
    SONNET,
    model,
    screen_with,
)


async def test_the_current_model_is_first_and_rows_have_badges(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(pick_model(screen))
    await screen.wait_until_shown()
    assert screen.lines(70)[2:8] == [
        " > Type to search",
        " [All]  anthropic  openai  Without key   $ per million in/out · window",
        "",
        " → anthropic/haiku-4-5  Haiku-4-5                current · sees   200k",
        "   openai/gpt-6  Gpt-6                                  default   128k",
        "   anthropic/sonnet-4-6  Sonnet-4-6                      thinks     1M",
    ]
    await screen.press("escape")
    assert await dialog is None


async def test_the_age_of_the_catalog_is_shown_where_there_is_room(tmp_path: Path) -> None:
    catalog = UpdatedCatalog(tmp_path / "models-update.json")
    for columns, is_shown in ((70, False), (100, True)):
        screen = screen_with(tmp_path, catalog=catalog)
        dialog = asyncio.create_task(pick_model(screen))
        await screen.wait_until_shown()
        head = screen.lines(columns)[3]
        assert ("as of 20" in head, "$ per million in/out · window" in head) == (is_shown, True)
        await screen.press("escape")
        assert await dialog is None


@pytest.mark.behaviour("selectors")
async def test_the_best_match_is_selected_while_typing(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(pick_model(screen))
    await screen.press("down", "down", *"son46")
    assert "→ anthropic/sonnet-4-6" in screen.text()
    await screen.press("enter")
    assert await dialog == PickedModel(model=SONNET)


async def test_tabs_show_one_provider_each_and_models_without_a_key(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(pick_model(screen))
    await screen.press("tab", "tab")
    assert "[openai]" in screen.text()
    assert "anthropic/" not in screen.text()
    await screen.press("tab")
    assert "xai/grok-5" in screen.text()
    assert "no key" in screen.text()
    await screen.press("shift+tab", "ctrl+s")
    assert await dialog == PickedModel(model=GPT, as_default=True)


async def test_models_of_a_server_on_this_machine_are_added_once_it_has_answered(
    tmp_path: Path,
) -> None:
    screen = screen_with(tmp_path, served=(LLAMA,))
    dialog = asyncio.create_task(pick_model(screen))
    await screen.wait_until_shown()
    await screen.tasks.settle(30)

    assert "[All]  anthropic  openai  ollama  Without key" in screen.text()
    assert "→ anthropic/haiku-4-5" in screen.text()  # still selected
    await screen.press(*"llama", "enter")
    assert await dialog == PickedModel(model=LLAMA)


async def test_a_server_that_answers_late_does_not_move_the_selection(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, served=(LLAMA,))
    release = asyncio.Event()
    ask = screen.port.models.discover

    async def late() -> None:
        await release.wait()
        await ask()

    screen.port.models.discover = late  # type: ignore[method-assign]
    dialog = asyncio.create_task(pick_model(screen))
    await screen.press("down")
    release.set()
    await screen.tasks.settle(30)

    assert "→ openai/gpt-6" in screen.text()
    await screen.press("up", "enter")
    assert await dialog == PickedModel(model=HAIKU)


async def test_the_all_tab_is_opened_when_the_server_of_the_open_tab_is_gone(
    tmp_path: Path,
) -> None:
    screen = screen_with(tmp_path)
    choice = ModelChoice(screen, known_models([HAIKU, LLAMA], [HAIKU, LLAMA], current=HAIKU), print)
    for _ in range(2):
        choice.picker.handle_input("\t")
    assert choice.picker.selected == LLAMA
    choice.set_catalogue(known_models([HAIKU], [HAIKU], current=HAIKU))
    assert "[All]" in "".join(choice.picker.render(60))
    assert choice.picker.selected == HAIKU


async def test_badges_are_dropped_before_the_name_on_a_narrow_screen(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, scope=(SONNET,))
    dialog = asyncio.create_task(pick_model(screen))
    await screen.wait_until_shown()
    rows = {width: screen.lines(width)[7] for width in (70, 42, 34, 30)}
    assert rows == {
        70: "   anthropic/sonnet-4-6  Sonnet-4-6             scoped · thinks     1M",
        42: "   anthropic/sonnet-4-6      scoped     1M",
        34: "   anthropic/sonnet-4-6         1M",
        30: "   anthropic/sonnet-4-6     1M",
    }
    await screen.press("escape")
    await dialog


def server_of(owner: Owner | None) -> ServerStatus:
    """An Ollama server of another user; ``owner`` is the owner that was chosen before."""
    before = None
    if owner is not None:
        before = ServerChoice(provider="ollama", host="127.0.0.1", port=11434, owner=owner)
    return ServerStatus(
        provider="ollama",
        address=ServerAddress(host="127.0.0.1", port=11434),
        owner=Owner(uid=998, user="eve", process="python3"),
        chosen=before,
    )


async def test_built_in_models_have_their_own_tab_beside_other_models(tmp_path: Path) -> None:
    tour = model("demo/tour")
    screen = screen_with(tmp_path, offered=(tour,))
    dialog = asyncio.create_task(pick_model(screen))
    await screen.wait_until_shown()
    assert "[All]  anthropic  openai  Built in  Without key" in screen.text()
    assert "demo/tour" not in screen.text()
    await screen.press("tab", "tab", "tab")
    assert "→ demo/tour" in screen.text()
    await screen.press("enter")
    assert await dialog == PickedModel(model=tour)


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (None, "not chosen yet, owner: eve (uid 998), python3"),
        (Owner(uid=1), "owner changed: eve (uid 998), python3"),
    ],
)
async def test_a_discovered_server_that_was_not_chosen_is_listed_with_its_owner(
    tmp_path: Path, before: Owner | None, shown: str
) -> None:
    screen = screen_with(tmp_path, offered=(LLAMA,), found=(server_of(before),))
    dialog = asyncio.create_task(pick_model(screen))
    await screen.wait_until_shown()
    assert "[All]  anthropic  openai  ollama  Without key" in screen.text()
    assert shown in next(line for line in screen.lines(90) if "ollama/llama" in line)
    await screen.press("escape")
    await dialog


@pytest.mark.parametrize(
    ("keys", "allowed"), [(("enter",), False), (("up", "enter"), True), (("y",), True)]
)
async def test_the_user_decides_whether_a_discovered_server_is_used(
    tmp_path: Path, keys: tuple[str, ...], *, allowed: bool
) -> None:
    screen = screen_with(tmp_path, offered=(LLAMA,), found=(server_of(None),))
    dialog = asyncio.create_task(may_ask_server(screen, "ollama"))
    await screen.wait_until_shown()
    assert "Use the server on 127.0.0.1:11434 as ollama?" in screen.text()
    assert "(owner: eve (uid 998), python3)" in " ".join(screen.text().split())
    await screen.press(*keys)
    assert await dialog is allowed
    assert await may_ask_server(screen, "anthropic")


async def test_roles_are_badges_and_used_models_are_listed_first(tmp_path: Path) -> None:
    notes = ModelNotes(badges={"openai/gpt-6": ("smol",)}, used=("anthropic/sonnet-4-6",))
    catalogue = known_models([GPT, SONNET, HAIKU], [GPT, SONNET, HAIKU], current=HAIKU, notes=notes)

    assert [model.id for model in catalogue.under("All")] == ["haiku-4-5", "sonnet-4-6", "gpt-6"]
    assert "@smol" in catalogue.badges(GPT)


async def test_a_model_picked_for_a_role_cannot_become_the_default(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(
        pick_model(screen, "Model for the role smol", can_be_default=False)
    )
    await screen.wait_until_shown()
    assert "Model for the role smol" in screen.text()
    assert "make default" not in screen.text()
    await screen.press("enter")
    assert await dialog == PickedModel(model=HAIKU)
