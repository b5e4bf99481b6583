from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.extensions.drawing import ExtensionTheme
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.modes.interactive.transcript.block import ToolCallState
from pi.testing import says
from tests.coding.extension_host.stage import Play, playing
from tests.modes.interactive.fake_screen import plain_theme


def views_of(play: Play) -> ExtensionViews:
    colours = ExtensionTheme(plain_theme())
    return ExtensionViews(play.session.extensions, colours, pad=lambda: 2, columns=lambda: 80)


async def test_each_thing_is_drawn_by_the_view_of_its_name(tmp_path: Path) -> None:
    seen: list[Any] = []

    def dice(call: ToolView, options: Any, theme: Any) -> list[str]:
        seen.append(call)
        return ["a", "b"]

    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("tool", "dice", dice)
        pi.add_view("message", "note", lambda message, options, theme: message.content * 9)
        pi.add_view("entry", "mark", lambda entry, options, theme: f"{options.output_pad}")
        pi.register_markdown_transformer(
            lambda text, about: f"{text} {sorted(about.values(), key=str)}"
        )

    call = ToolCallState("1", "dice", now=0.0)
    call.asked({"sides": 6})
    async with playing(tmp_path, extension) as play:
        views = views_of(play)
        note, other = (CustomMessage(custom_type=name, content="ab") for name in ("note", "x"))

        assert views.tool(call, 20, expanded=False) == ["a", "b"]
        assert views.tool(ToolCallState("2", "bash", now=0.0), 20, expanded=False) is None
        assert views.message(note, 8, expanded=False) == ["abababab", "abababab", "ab"]
        assert views.message(other, 8, expanded=False) is None
        assert views.entry(Custom(custom_type="mark"), 8, expanded=True) == ["2"]
        shown = [views.shows(Custom(custom_type=name)) for name in ("mark", "x")]
        assert (shown, views.shows_entries) == ([True, False], True)
        assert views.markdown("hi", "user") == "hi [80, False, 'user']"

    assert seen == [
        ToolView(id="1", name="dice", arguments={"sides": 6}, state="asking", details={})
    ]


async def test_what_a_view_repeats_cannot_command_the_terminal(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("tool", "dice", lambda call, options, theme: [call.arguments["sides"]])

    call = ToolCallState("1", "dice", now=0.0)
    call.asked({"sides": "\x1b]52;c;b3duZWQ=\x07\x1b[1msix\x1b[0m\x1b[2J"})
    async with playing(tmp_path, extension) as play:
        assert views_of(play).tool(call, 20, expanded=False) == ["\x1b[1msix\x1b[0m"]


async def test_entries_stand_among_the_messages_where_they_were_kept(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_entry_renderer("mark", lambda entry, options, theme: "x")

        @pi.command("mark")
        async def mark(args: str, ctx: Any) -> None:
            await pi.append_entry("mark", args)
            await pi.append_entry("unseen")

    async with playing(tmp_path, extension, steps=(says("one"), says("two"))) as play:
        await play.session.prompt("/mark first")
        await play.session.prompt("a")
        await play.session.prompt("/mark second")
        await play.session.prompt("b")
        await play.session.prompt("/mark third")
        facts = play.session.facts

        shown = facts.transcript(100, views_of(play).shows).items
        places = [
            (place, each.data) for place, each in enumerate(shown) if isinstance(each, Custom)
        ]

        assert places == [(0, "first"), (3, "second"), (6, "third")]
        assert not any(isinstance(each, Custom) for each in facts.transcript(100).items)
