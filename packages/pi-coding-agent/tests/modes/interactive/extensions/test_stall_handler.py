from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from pi.coding.bus import Owner
from pi.coding.extension_host.watchdog import Stalled
from pi.modes.interactive.extensions.stalls import StallHandler, stall_handler
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.modes.interactive.extensions.layouts import new_frame

NAME = "stuck\x1b[2J"


class HangingTerminal(VirtualTerminal):
    """A terminal at which a user presses keys while the program hangs."""

    def __init__(self, *keys: bytes) -> None:
        super().__init__(60, 5)
        self.kept: list[bytes] = []
        """What the program gets when it goes on."""
        self._keys = list(keys)

    def read_aside(self, consume: Callable[[bytes], bytes]) -> None:
        """One key at a time."""
        if self._keys:
            self.kept.append(consume(self._keys.pop(0)))


def hanging(end: Callable[[threading.Event], None]) -> Stalled:
    over = threading.Event()
    owner = Owner(name=NAME, path="/stuck.py")
    return Stalled(owner=owner, function="stay", over=over, end=lambda: end(over))


async def test_ctrl_c_ends_a_hanging_extension_and_other_keys_are_kept(tmp_path: Path) -> None:
    screen_rows: list[str] = []
    kit = HangingTerminal(b"dra", b"\x03ft")

    def end(over: threading.Event) -> None:
        screen_rows.extend(kit.screen)
        over.set()

    rescue = StallHandler(TUI(kit, env={}), kit, new_frame(tmp_path).theme)
    rescue(hanging(end))

    assert kit.kept == [b"dra", b"ft"]
    assert screen_rows == [
        "",
        "",
        "",
        "",
        "Extension stuck is blocking in stay. Ctrl+C stops it.",
    ]


async def test_nothing_is_written_to_a_terminal_with_a_backlog(tmp_path: Path) -> None:
    kit = HangingTerminal(b"\x03")
    kit.backlog = 1

    StallHandler(TUI(kit, env={}), kit, new_frame(tmp_path).theme)(hanging(threading.Event.set))

    assert kit.output == []


async def test_no_stall_handler_is_made_for_a_terminal_without_direct_input(
    tmp_path: Path,
) -> None:
    frame = new_frame(tmp_path)

    assert stall_handler(frame.tui, frame.theme) is None
    assert stall_handler(TUI(HangingTerminal(), env={}), frame.theme) is not None
