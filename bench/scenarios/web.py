"""What the web batteries cost: importing them, and converting a page."""

from __future__ import annotations

from bench.scenario import Command, Scenario, Target, figure, python

IMPORT = Scenario(
    name="web-import",
    about="importing web_search and web_pages; the floor imports them as well",
    measured=Command(words=python("web.pages", "import")),
    floor=Command(words=python("web.pages", "import")),
    metrics=(figure(0, "cpu", "ms", Target(at_most=40)),),
)

CONVERSION = Scenario(
    name="web-page",
    about="a page of 80 KB as Markdown in a child process; the floor converts it in the process",
    measured=Command(words=python("web.pages", "child")),
    floor=Command(words=python("web.pages", "inside")),
    metrics=(figure(0, "wall per page", "ms", Target(at_most=250)),),
)

SCENARIOS = (IMPORT, CONVERSION)
