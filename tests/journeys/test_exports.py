"""What the user sees of `/export`."""

from __future__ import annotations

import time

from tests.journeys.processes import SECONDS
from tests.journeys.program import Journey


def test_the_page_of_an_export_is_opened_and_its_path_may_have_spaces(journey: Journey) -> None:
    opened = journey.folder / "opened"
    browser = journey.folder / "xdg-open"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    path = f"{journey.folder}:{journey.environ['PATH']}"
    with journey.terminal(columns=200, PATH=path, DISPLAY=":9") as user:
        user.submits("hello")
        user.sees("All is well.")
        user.submits("/export my page.html")
        user.sees("my page.html")
        end = time.monotonic() + SECONDS
        while not opened.exists() and time.monotonic() < end:
            user.settles()
    page = journey.home.cwd / "my page.html"
    assert "All is well." in page.read_text(encoding="utf-8")
    assert "my%20page.html" in (address := opened.read_text()) or str(page) in address
