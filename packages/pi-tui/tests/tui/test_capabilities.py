from __future__ import annotations

import pytest

from pi.tui.style import ColourDepth
from pi.tui.terminal import Brand, Capabilities, ImageProtocol, detect, is_multiplexer


@pytest.mark.parametrize(
    ("env", "brand", "images", "links"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "kitty", "kitty", True),
        ({"TERM_PROGRAM": "ghostty"}, "ghostty", "kitty", True),
        ({"GHOSTTY_RESOURCES_DIR": "/x"}, "ghostty", "kitty", True),
        ({"WEZTERM_PANE": "0"}, "wezterm", "kitty", True),
        ({"TERM_PROGRAM": "WarpTerminal"}, "warp", "kitty", True),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm2", "iterm2", True),
        ({"ITERM_SESSION_ID": "1"}, "iterm2", "iterm2", True),
        ({"TERM_PROGRAM": "vscode"}, "vscode", None, True),
        ({"TERM_PROGRAM": "zed"}, "zed", None, True),
        ({"WT_SESSION": "1"}, "windows-terminal", None, True),
        ({"TERMINAL_EMULATOR": "JetBrains-JediTerm"}, "jetbrains", None, False),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "apple-terminal", None, False),
        ({"TERM": "xterm-256color"}, "unknown", None, False),
    ],
)
def test_a_terminal_is_detected_by_its_environment(
    env: dict[str, str], brand: Brand, images: ImageProtocol | None, links: bool
) -> None:
    found = detect(env)

    assert (found.brand, found.images, found.hyperlinks) == (brand, images, links)


@pytest.mark.behaviour("colour-depth-falls-back")
@pytest.mark.parametrize(
    ("env", "colours"),
    [
        ({"TERM": "xterm-256color"}, ColourDepth.PALETTE),
        ({"COLORTERM": "truecolor"}, ColourDepth.TRUE),
        ({"KITTY_WINDOW_ID": "1"}, ColourDepth.TRUE),
        ({"TERMINAL_EMULATOR": "JetBrains-JediTerm"}, ColourDepth.TRUE),
        ({"TERM_PROGRAM": "Apple_Terminal", "COLORTERM": "truecolor"}, ColourDepth.PALETTE),
        ({"TERM": "screen-256color", "COLORTERM": "truecolor"}, ColourDepth.PALETTE),
        ({"TERM": "screen", "TMUX": "x", "COLORTERM": "truecolor"}, ColourDepth.TRUE),
        ({"TERM": "linux"}, ColourDepth.BASIC),
        ({"TERM": "xterm-16color"}, ColourDepth.BASIC),
        ({"TERM": "xterm-color"}, ColourDepth.BASIC),
        ({"TERM": "dumb"}, ColourDepth.NONE),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, ColourDepth.NONE),
        ({"PI_TRUE_COLOR": "0", "COLORTERM": "truecolor"}, ColourDepth.PALETTE),
        ({"PI_TRUE_COLOR": "1"}, ColourDepth.TRUE),
    ],
)
def test_the_colour_depth_is_detected_by_the_environment(
    env: dict[str, str], colours: ColourDepth
) -> None:
    assert detect(env).colours is colours


@pytest.mark.behaviour("multiplexers-are-detected")
@pytest.mark.parametrize(
    "env",
    [
        {"TMUX": "/tmp/tmux"},
        {"STY": "1.pts"},
        {"ZELLIJ": "0"},
        {"CMUX_SURFACE_ID": "1"},
        {"TERM": "tmux-256color"},
        {"TERM": "screen.xterm-256color"},
    ],
)
def test_multiplexers_are_detected_by_pane_variables_and_term(env: dict[str, str]) -> None:
    assert is_multiplexer(env)
    assert not is_multiplexer({"TERM": "xterm-256color", "TMUX": ""})


@pytest.mark.behaviour("inline-images")
def test_pictures_and_hyperlinks_are_disabled_inside_a_multiplexer() -> None:
    found = detect({"KITTY_WINDOW_ID": "1", "TMUX": "x"})

    assert (found.multiplexer, found.images, found.hyperlinks) == (True, None, False)


@pytest.mark.behaviour("synchronized-output-on-report")
@pytest.mark.parametrize(
    ("env", "on", "fixed"),
    [
        ({"KITTY_WINDOW_ID": "1"}, True, False),
        ({"TERM": "xterm"}, False, False),
        ({"KITTY_WINDOW_ID": "1", "TMUX": "x"}, False, False),
        ({"TERM_FEATURES": "T3CwLrMSc7UUw9Ts3BFGsSyHNoSxF"}, True, False),
        ({"KITTY_WINDOW_ID": "1", "PI_NO_SYNC_OUTPUT": "1"}, False, True),
        ({"KITTY_WINDOW_ID": "1", "PI_NO_SYNC_OUTPUT": "please"}, False, True),
        ({"KITTY_WINDOW_ID": "1", "PI_NO_SYNC_OUTPUT": "0"}, False, True),
        ({"KITTY_WINDOW_ID": "1", "PI_NO_SYNC_OUTPUT": ""}, True, False),
        ({"KITTY_WINDOW_ID": "1", "PI_TUI_SYNC_OUTPUT": "0"}, False, True),
        ({"PI_TUI_SYNC_OUTPUT": "1"}, True, True),
        ({"PI_FORCE_SYNC_OUTPUT": "1", "TMUX": "x"}, True, True),
        ({"PI_FORCE_SYNC_OUTPUT": "1", "PI_NO_SYNC_OUTPUT": "1"}, False, True),
    ],
)
def test_synchronized_output_follows_the_user_then_the_terminal(
    env: dict[str, str], on: bool, fixed: bool
) -> None:
    found = detect(env)

    assert (found.synchronized, found.synchronized_is_fixed) == (on, fixed)


def test_environment_variables_override_pictures_links_and_notifications() -> None:
    assert detect({"PI_FORCE_IMAGE_PROTOCOL": "sixel"}).images == "sixel"
    assert detect({"PI_FORCE_IMAGE_PROTOCOL": "iterm"}).images == "iterm2"
    assert detect({"PI_IMAGE_PROTOCOL": "off", "KITTY_WINDOW_ID": "1"}).images is None
    assert detect({"PI_HYPERLINKS": "1"}).hyperlinks
    assert not detect({"PI_NOTIFICATIONS": "off"}).notifications
    assert detect({"PI_HARDWARE_CURSOR": "1"}).hardware_cursor


@pytest.mark.behaviour("key-formats-decode")
def test_modify_other_keys_is_off_for_an_unknown_terminal_over_ssh() -> None:
    assert not detect({"SSH_TTY": "/dev/pts/1", "TERM": "vt220"}).modify_other_keys
    assert detect({"SSH_TTY": "/dev/pts/1", "TERM": "xterm-256color"}).modify_other_keys
    assert detect({"TERM": "vt220"}).modify_other_keys


def test_nothing_is_assumed_of_an_empty_environment() -> None:
    assert detect({}) == Capabilities()
