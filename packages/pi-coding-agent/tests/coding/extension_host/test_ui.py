from __future__ import annotations

from pi.coding.port.ui import ExtensionUI, ThemeChange


async def test_without_a_ui_dialogs_return_defaults() -> None:
    ui = ExtensionUI()

    answers = [
        await ui.select("a", ["b"]),
        await ui.confirm("a", "b"),
        await ui.input("a", secret=True),
        await ui.editor("a"),
        await ui.custom(lambda: ui, overlay=True),  # type: ignore[arg-type, return-value]
    ]

    assert answers == [None, False, None, None, None]
    assert (ui.has_ui, ui.get_editor_text(), ui.get_tools_expanded()) == (False, "", False)
    assert (ui.get_all_themes(), ui.get_theme("x"), ui.get_editor_component()) == ((), None, None)
    assert (ui.set_theme("x"), ui.facts) == (
        ThemeChange(success=False, error="There is no screen."),
        {},
    )
    assert [ui.theme.fg("red", "x"), ui.theme.bg("red", "x"), ui.theme.bold("x")] == ["x"] * 3
    assert (ui.theme.name, ui.theme.italic("x"), ui.theme.dim("x")) == ("", "x", "x")


def test_without_a_ui_show_methods_do_nothing() -> None:
    ui = ExtensionUI()

    ui.notify("x", "error")
    ui.set_status("k", "v")
    ui.set_fact("sandbox", "on")
    ui.set_widget("k", ["l"], placement="belowEditor")
    ui.set_title("t")
    ui.set_working_message("m")
    ui.set_working_visible(visible=False)
    ui.set_working_indicator(["."], 1)
    ui.set_hidden_thinking_label("l")
    ui.set_footer(None)
    ui.set_header(None)
    ui.set_editor_component(None)
    ui.paste_to_editor("x")
    ui.set_tools_expanded(expanded=True)
    rows = ui.add_footer_line("k", ui)  # type: ignore[arg-type]
    rows.invalidate()
    rows.remove()
    ui.add_autocomplete_provider(None)()
    ui.on_terminal_input(print)()
