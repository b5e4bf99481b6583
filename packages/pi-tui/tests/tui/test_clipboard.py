from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pi.tui.desktop import Clipboard, Copied, CopyFailed, osc52, runner


class ClipboardFixture:
    """Installed programs, their input, and what the terminal received."""

    def __init__(self, *installed: str, failing: Sequence[str] = ()) -> None:
        self.installed = installed
        self.failing = failing
        self.ran: list[tuple[tuple[str, ...], bytes]] = []
        self.written: list[str] = []

    def find(self, name: str) -> str | None:
        return f"/bin/{name}" if name in self.installed else None

    async def run(self, command: Sequence[str], data: bytes) -> bool:
        self.ran.append((tuple(command), data))
        return Path(command[0]).name not in self.failing

    def clipboard(self, env: Mapping[str, str], system: str = "linux") -> Clipboard:
        return Clipboard(
            system=system, env=env, find=self.find, run=self.run, write=self.written.append
        )


@pytest.mark.behaviour("copy-reports-truth")
@pytest.mark.parametrize(
    ("system", "env", "command"),
    [
        ("darwin", {}, ["pbcopy"]),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ["wl-copy"]),
        ("linux", {"DISPLAY": ":0"}, ["xclip", "-selection", "clipboard", "-in"]),
        ("linux", {"TMUX": "/tmp/t"}, ["tmux", "load-buffer", "-w", "-"]),
        (
            "linux",
            {"SSH_TTY": "t", "WAYLAND_DISPLAY": "w", "TMUX": "x"},
            ["tmux", "load-buffer", "-w", "-"],
        ),
    ],
)
async def test_the_clipboard_program_of_the_platform_is_run(
    system: str, env: Mapping[str, str], command: list[str]
) -> None:
    kit = ClipboardFixture("pbcopy", "wl-copy", "xclip", "tmux")
    copied = await kit.clipboard(env, system).copy("hé")

    assert copied == Copied(by=command[0], confirmed=True)
    assert kit.ran == [((f"/bin/{command[0]}", *command[1:]), "hé".encode())]
    assert kit.written == []


@pytest.mark.behaviour("copy-reports-truth")
@pytest.mark.parametrize(("system", "env"), [("linux", {"WSL_DISTRO_NAME": "D"}), ("win32", {})])
async def test_text_is_sent_to_clip_exe_as_utf_16(system: str, env: Mapping[str, str]) -> None:
    kit = ClipboardFixture("clip.exe")

    assert await kit.clipboard(env, system).copy("hé") == Copied(by="clip.exe", confirmed=True)
    assert kit.ran[0][1].decode("utf-16") == "hé"


@pytest.mark.behaviour("copy-reports-truth")
async def test_the_next_program_is_tried_after_a_failure() -> None:
    kit = ClipboardFixture("wl-copy", "xsel", failing=["wl-copy"])
    copied = await kit.clipboard({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}).copy("x")

    assert copied == Copied(by="xsel", confirmed=True)


@pytest.mark.behaviour("copy-reports-truth")
@pytest.mark.parametrize("env", [{}, {"SSH_CONNECTION": "a"}])
async def test_without_programs_the_terminal_is_used_without_claiming_success(
    env: Mapping[str, str],
) -> None:
    kit = ClipboardFixture("wl-copy", "pbcopy")

    assert await kit.clipboard(env).copy("hi") == Copied(by="terminal", confirmed=False)
    assert kit.written == ["\x1b]52;c;aGk=\x07"]


@pytest.mark.behaviour("copy-reports-truth")
async def test_text_beyond_the_osc52_limit_is_not_sent() -> None:
    kit = ClipboardFixture()

    with pytest.raises(CopyFailed) as failure:
        await kit.clipboard({}).copy("x" * 80_000)
    assert failure.value.explain() == (
        "The text of 80000 characters is too long for the terminal to copy. "
        "Install wl-copy, xclip or xsel, or copy a smaller part."
    )
    assert kit.written == []


async def test_the_osc52_sequence_is_split_for_gnu_screen() -> None:
    kit = ClipboardFixture()
    await kit.clipboard({"STY": "1.x"}).copy("x" * 100)
    (written,) = kit.written
    pieces = written.removeprefix("\x1bP").removesuffix("\x1b\\").split("\x1b\\\x1bP")

    assert "".join(pieces) == osc52("x" * 100)
    assert max(map(len, pieces)) == 76


def test_the_osc52_sequence_encodes_any_text() -> None:
    payload = osc52("日\n\x1b").removeprefix("\x1b]52;c;").removesuffix("\x07")

    assert base64.b64decode(payload).decode() == "日\n\x1b"


async def test_the_runner_passes_the_input_and_returns_whether_the_program_succeeded(
    tmp_path: Path,
) -> None:
    run = runner({"PATH": "/bin:/usr/bin"}, tmp_path)

    assert await run(["sh", "-c", "cat > copied"], b"text")
    assert (tmp_path / "copied").read_bytes() == b"text"
    assert not await run(["sh", "-c", "exit 3"], b"")
    assert not await run([str(tmp_path / "missing")], b"")


async def test_clipboard_programs_inherit_display_variables_but_no_secrets(tmp_path: Path) -> None:
    run = runner({"PATH": "/bin:/usr/bin", "DISPLAY": ":0", "MY_KEY": "key"}, tmp_path)

    assert await run(["sh", "-c", "env > seen"], b"")
    assert "DISPLAY=:0" in (seen := (tmp_path / "seen").read_text())
    assert "MY_KEY" not in seen


@pytest.mark.behaviour("copy-reports-truth")
async def test_the_terminal_gets_the_text_as_well_if_the_variable_says_so() -> None:
    env = {"DISPLAY": ":0", "PI_CLIPBOARD_OSC52": "1"}
    kit = ClipboardFixture("xclip")

    assert await kit.clipboard(env).copy("text") == Copied(by="xclip", confirmed=True)
    assert kit.written == [osc52("text")]

    await kit.clipboard(env).copy("x" * 100_000)
    assert len(kit.written) == 1, "it is too long for a terminal"
