from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.views import CodeView, ToolView
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.testing import says
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.fake_screen import plain_theme


def views_of(hosted: ExtensionFixture) -> ExtensionViews:
    colours = ExtensionTheme(plain_theme())
    return ExtensionViews(hosted.session.extensions, colours, pad=lambda: 2, columns=lambda: 80)


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
    call.set_arguments({"sides": 6})
    async with extension_session(tmp_path, extension) as hosted:
        views = views_of(hosted)
        note, other = (CustomMessage(custom_type=name, content="ab") for name in ("note", "x"))

        assert views.tool(call, 20, expanded=False) == ["a", "b"]
        assert views.tool(ToolCallState("2", "bash", now=0.0), 20, expanded=False) is None
        assert views.message(note, 8, expanded=False) == ["abababab", "abababab", "ab"]
        assert views.message(other, 8, expanded=False) is None
        assert views.entry(Custom(custom_type="mark"), 8, expanded=True) == ["2"]
        visibilities = [views.shows(Custom(custom_type=name)) for name in ("mark", "x")]
        assert (visibilities, views.shows_entries) == ([True, False], True)
        assert views.markdown("hi", "user") == "hi [80, False, 'user']"

    assert seen == [
        ToolView(id="1", name="dice", arguments={"sides": 6}, state="asking", details={})
    ]


async def test_control_sequences_are_removed_from_rows_of_a_view(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("tool", "dice", lambda call, options, theme: [call.arguments["sides"]])

    call = ToolCallState("1", "dice", now=0.0)
    call.set_arguments({"sides": "\x1b]52;c;b3duZWQ=\x07\x1b[1msix\x1b[0m\x1b[2J"})
    async with extension_session(tmp_path, extension) as hosted:
        assert views_of(hosted).tool(call, 20, expanded=False) == ["\x1b[1msix\x1b[0m"]


async def test_entries_are_shown_at_their_place_among_the_messages(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.register_entry_renderer("mark", lambda entry, options, theme: "x")

        @pi.command("mark")
        async def mark(args: str, ctx: Any) -> None:
            await pi.append_entry("mark", args)
            await pi.append_entry("unseen")

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("/mark first")
        await hosted.session.prompt("a")
        await hosted.session.prompt("/mark second")
        await hosted.session.prompt("b")
        await hosted.session.prompt("/mark third")
        facts = hosted.session.info

        items = facts.transcript(100, views_of(hosted).shows).items
        positions = [
            (position, item.data) for position, item in enumerate(items) if isinstance(item, Custom)
        ]

        assert positions == [(0, "first"), (3, "second"), (6, "third")]
        assert not any(isinstance(item, Custom) for item in facts.transcript(100).items)


async def test_code_of_a_language_is_drawn_and_a_failed_view_leaves_the_source(
    tmp_path: Path,
) -> None:
    seen: list[CodeView] = []

    def draw(code: CodeView, options: Any, theme: Any) -> list[str] | None:
        seen.append(code)
        if "boom" in code.text:
            raise RuntimeError("no such shape")
        return [f"<\x1b[2J{code.text.strip()}>"]

    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("code", "dot", draw)

    async with extension_session(tmp_path, extension) as hosted:
        views = views_of(hosted)

        assert [views.draws_code(name) for name in ("dot", "DOT", "py")] == [True, True, False]
        assert views.code("dot", "a\n", 20, is_open=False) == ["<a>"]
        assert seen == [CodeView(language="dot", text="a\n")]
        assert views.code("dot", "boom", 20, is_open=True) is None
        assert views.code("dot", "a", 20, is_open=False) is None  # not called again
        assert len(seen) == 2


async def test_code_views_can_be_switched_off_per_language(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("code", "dot", lambda code, options, theme: [])

    async with extension_session(tmp_path, extension) as hosted:
        views = ExtensionViews(
            hosted.session.extensions,
            ExtensionTheme(plain_theme()),
            pad=lambda: 0,
            columns=lambda: 80,
            is_off=lambda language: language == "dot",
        )

        assert not views.draws_code("dot")


async def test_views_of_a_manifest_are_drawn_without_loading_the_extension(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions" / "shapes"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('loaded')\n")
    (folder / "pi.toml").write_text(
        'activate = ["view:code:dot"]\n'
        'views = { "code:dot" = "tests.modes.interactive.extensions.test_views:dots" }\n'
    )
    stage = SessionFixture(tmp_path)
    session = await stage.open(mode="tui")
    views = ExtensionViews(
        session.extensions, ExtensionTheme(plain_theme()), pad=lambda: 0, columns=lambda: 80
    )

    assert views.code("dot", "abc", 20, is_open=False) == ["..."]
    assert session.extensions.hosting.contributions.host is None
    assert views.code("dot", "", 20, is_open=False) is None
    assert stage.reports == ["Warning: view code:dot of shapes failed: no text"]

    (info,) = session.extensions.infos()  # with a host the stand-in has the view
    assert info.state == "waiting"
    assert views.code("dot", "ab", 20, is_open=False) == [".."]
    await session.close()


def dots(code: CodeView, options: Any, theme: Any) -> list[str]:
    if not code.text:
        raise ValueError("no text")
    return ["." * len(code.text)]


async def test_links_are_shown_only_if_the_terminal_supports_them(tmp_path: Path) -> None:
    linked = "\x1b]8;;https://x.example/\x07page\x1b]8;;\x07"
    seen: list[bool] = []

    def draw(entry: object, options: Any, theme: object) -> list[str]:
        seen.append(options.hyperlinks)
        return [linked]

    def extension(pi: ExtensionAPI) -> None:
        pi.add_view("entry", "mark", draw)

    mark = Custom(custom_type="mark")
    async with extension_session(tmp_path, extension) as hosted:
        plain = views_of(hosted).entry(mark, 20, expanded=False)
        views = ExtensionViews(
            hosted.session.extensions,
            ExtensionTheme(plain_theme()),
            pad=lambda: 0,
            columns=lambda: 80,
            has_hyperlinks=lambda: True,
        )
        drawn = views.entry(mark, 20, expanded=False)

    assert plain == ["page"]
    assert drawn is not None
    assert linked in drawn[0]
    assert seen == [False, True]
