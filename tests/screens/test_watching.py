"""Polling of files continues after every kind of error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi.modes.interactive.session_lifecycle import POLL_SECONDS
from pi.modes.interactive.theme_selector import BUILT_IN
from tests.cli.forked import TIMEOUT_SECONDS
from tests.modes.interactive.app_fixture import AppFixture

WITHOUT_FILES = """
import asyncio, os, resource, sys
from pathlib import Path
from pi.modes.interactive.status.git_branch import branch_of
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import ThemeSelector, built_in, themes_in

folder = Path(sys.argv[1])
choice = ThemeSelector(
    Theme(built_in("dark")),
    files=lambda: themes_in(folder),
    scheme=lambda: "dark",
    redraw=lambda: None,
)
choice.use("mine")
loop = asyncio.new_event_loop()
os.utime(folder / "mine.json", ns=(1, 1))
branches = [loop.run_until_complete(branch_of(folder))]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(folder, os.O_RDONLY))
except OSError:
    pass
choice.reload_if_changed()
branches.append(loop.run_until_complete(branch_of(folder)))
for fd in held:
    os.close(fd)
choice.reload_if_changed()
branches.append(loop.run_until_complete(branch_of(folder)))
loop.close()
print(branches, choice.current)
"""


def theme(accent: str) -> str:
    data = json.loads((BUILT_IN / "dark.json").read_text())
    data["name"], data["colors"]["thinkingMedium"] = "mine", accent
    return json.dumps(data)


@pytest.mark.behaviour("watchers-survive-errors")
async def test_a_theme_file_that_was_broken_or_deleted_is_reloaded_when_valid_again(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "mine"}')
    path = app_fixture.fixture.write(".pi/agent/themes/mine.json", theme("#102030"))
    async with app_fixture.running():
        path.write_text("{")
        await app_fixture.clock.advance(POLL_SECONDS)
        path.unlink()
        await app_fixture.clock.advance(POLL_SECONDS)
        path.mkdir()
        await app_fixture.clock.advance(POLL_SECONDS)
        path.rmdir()
        path.write_text(theme("#405060"))
        os.utime(path, ns=(1, 1))
        await app_fixture.clock.advance(POLL_SECONDS)
        await app_fixture.until(
            lambda: app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x40, 0x50, 0x60))
        )


@pytest.mark.behaviour("watchers-survive-errors")
@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_watchers_survive_a_lack_of_file_descriptors(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(theme("#102030"))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FILES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )

    assert (done.stdout, done.stderr) == ("['main', None, 'main'] mine\n", "")
