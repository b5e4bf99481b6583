"""The exported page in a real browser: it works, sends no requests, and runs no injected code."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.coding.export.html.page import render_page
from pi.coding.export.transcript import read_transcript
from pi.coding.session.entries import Entry, SessionHeader, UnknownEntry
from tests.coding.export.sessions import (
    HEADER,
    answered,
    chain,
    drawn_results,
    long_session,
    message,
    sample,
    user_message,
)
from tests.sampling import sampled

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here; not tested: the exported page"),
    pytest.mark.slow,
]

PAYLOAD = (
    "\"'><script>hit('script')</script><img src=x onerror=hit('onerror')>"
    "<svg onload=hit('onload')></svg><a href=\"javascript:hit('a')\">a</a>"
    "[b](javascript:hit('b')) [c](java&#9;script:hit('c')) ![d](javascript:hit('d'))"
    "<style>*{display:none}</style></style></script></textarea></title>--><!-- {{script}} "
)
AS_THEY_ARE = {"type", "role", "stopReason"}
"""Fields that decide what an entry is: with another value it would be another entry."""

LIGHT, DARK = "rgb(247, 247, 245)", "rgb(21, 23, 26)"

LEAST_CONTRAST = """
(() => {
  const light = colour => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d');
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const card = light(getComputedStyle(document.querySelector('details.tool')).backgroundColor);
  const drawn = '.phases *, .members *, .action *, .result .note';
  return Math.min(...[...document.querySelectorAll(drawn)]
    .map(e => light(getComputedStyle(e).color))
    .map(ink => (Math.max(ink, card) + 0.05) / (Math.min(ink, card) + 0.05)));
})()
"""
"""The contrast of the faintest text of drawn details, as WCAG defines it; 4.5 is readable."""


class Visit:
    """An open page with its problems and its requests."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda logged: self.problems.append(f"{logged.type}: {logged.text}"))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith("data:"):
            self.requests.append(request.url)

    def shown(self) -> list[int]:
        """The nodes that can be seen."""
        nodes: list[int] = self.page.evaluate(
            "[...document.querySelectorAll('article')].filter(a => a.checkVisibility())"
            ".map(a => Number(a.dataset.n))"
        )
        return nodes


Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Open]:
    contexts = []

    def visit(
        entries: list[Entry], header: SessionHeader = HEADER, *, width: int = 1200, **options: Any
    ) -> Visit:
        file = tmp_path / "page.html"
        file.write_text(render_page(read_transcript(header, entries)), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        context.add_init_script("window.hits = []; window.hit = (what) => hits.push(what);")
        page_url = file.as_uri()
        context.route(
            lambda url: url.split("#")[0] != page_url and not url.startswith("data:"),
            lambda route: route.abort(),
        )
        visited = Visit(context.new_page())
        visited.page.goto(page_url)
        return visited

    yield visit
    for context in contexts:
        context.close()


def poisoned(value: Any, key: str = "") -> Any:
    """A JSON value with the payload in every text and every name of free data."""
    match value:
        case str() if key not in AS_THEY_ARE:
            return PAYLOAD + value
        case dict() if key in ("arguments", "data", "details", "properties", "sections"):
            return {PAYLOAD + name: poisoned(member, name) for name, member in value.items()}
        case dict():
            return {name: poisoned(member, name) for name, member in value.items()}
        case list() | tuple():
            return [poisoned(member, key) for member in value]
        case _:
            return value


def poisoned_entry(entry: Entry) -> Entry:
    if isinstance(entry, UnknownEntry):
        data = {PAYLOAD + name: poisoned(value) for name, value in entry.data.items()}
        id, parent = PAYLOAD + entry.id, PAYLOAD + (entry.parent_id or "")
        return UnknownEntry(data=data, id=id, parent_id=parent, timestamp=PAYLOAD)
    return msgspec.convert(poisoned(msgspec.to_builtins(entry)), type=type(entry))


def test_the_page_opens_without_errors_and_sends_no_requests(visit: Open) -> None:
    visited = visit(sample())

    assert (visited.problems, [url[:7] for url in visited.requests]) == ([], ["file://"])
    assert visited.page.title() == "Mending the engine"
    assert visited.page.evaluate("document.images[0].naturalWidth") == 1


@pytest.mark.behaviour("export-is-escaped")
@pytest.mark.behaviour("html-text-is-shown")
def test_a_payload_in_every_field_of_every_entry_does_nothing(visit: Open) -> None:
    header = msgspec.convert(poisoned(msgspec.to_builtins(HEADER)), type=SessionHeader)
    visited = visit([poisoned_entry(entry) for entry in sample()], header)
    page = visited.page

    page.click("#unfold")
    page.click("#asides")
    for details in page.query_selector_all("#facts details"):
        details.evaluate("details => details.open = true")
    for row in page.query_selector_all("#outline a, .switch button:enabled, .dead-link"):
        row.evaluate("element => element.click()")

    assert (visited.problems, [url[:7] for url in visited.requests]) == ([], ["file://"])
    assert page.evaluate("hits") == []
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
            ".filter(a => a.name.startsWith('on') || /^\\s*javascript:/i.test(a.value)"
            " && a.name !== 'title').map(a => a.name + '=' + a.value)"
        )
        == []
    )
    counts = "['script', 'style', 'svg', 'iframe'].map(e => document.querySelectorAll(e).length)"
    assert page.evaluate(counts) == [1, 1, 0, 0]
    assert page.evaluate("document.querySelectorAll('article').length") == len(sample()) - 3
    assert "<script>hit('script')</script>" in page.inner_text("main")


@pytest.mark.full
@pytest.mark.behaviour("export-is-escaped")
def test_a_payload_in_drawn_details_does_nothing(visit: Open) -> None:
    visited = visit(drawn_results(PAYLOAD))
    visited.page.click("#unfold")

    assert (visited.problems, visited.page.evaluate("hits")) == ([], [])
    counts = "['script', 'style', 'svg', 'img'].map(e => document.querySelectorAll(e).length)"
    assert visited.page.evaluate(counts) == [1, 1, 0, 0]
    assert "Rename total" + PAYLOAD.strip() in visited.page.inner_text(".phases .in_progress")


@pytest.mark.full
@pytest.mark.parametrize("scheme", sampled(["light", "dark"], keep=1))
def test_drawn_details_are_readable_on_a_phone_in_light_and_dark(visit: Open, scheme: str) -> None:
    page = visit(drawn_results(), width=360, color_scheme=scheme).page
    page.click("#unfold")

    tasks = page.locator(".phases li li").all_inner_texts()
    assert tasks == [
        "✔ Read the engine",
        "▶ Rename total",
        "✘ Rewrite it in C",
        "☐ Write the notes",
    ]
    assert page.locator(".action .badge").all_inner_texts() == ["preview", "applied", "discarded"]
    assert page.locator(".result section .diff").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate(LEAST_CONTRAST) >= 4.5


@pytest.mark.full
def test_words_in_a_table_are_not_broken_on_a_narrow_page(visit: Open) -> None:
    headings = (
        "responsibility",
        "configuration",
        "documentation",
        "implementation",
        "authentication",
    )
    row = "| " + " | ".join(headings) + " |"
    answer = f"{row}\n{'|---' * len(headings)}|\n{row}\n"
    page = visit(
        chain([message(user_message("Which?")), message(answered(answer))]), width=420
    ).page

    heights = page.evaluate(
        "[...document.querySelectorAll('.words td')].map(cell => "
        "Math.round(cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight)))"
    )
    assert len(heights) == len(headings)
    assert set(heights) == {1}


@pytest.mark.full
def test_choosing_a_branch_in_the_outline_shows_that_branch(visit: Open) -> None:
    visited = visit(sample())
    before = visited.shown()

    visited.page.click("#outline a >> text=Or rewrite it in C?")
    other = visited.shown()
    visited.page.click("article:visible .switch button[aria-label='Previous branch']")

    assert before == [3, 4, 7, 9, 11, 12, 13, 19, 20, 23, 24, 25]
    assert other == [3, 4, 7, 9, 21, 22]
    assert visited.shown() == before


@pytest.mark.full
def test_a_url_fragment_selects_an_entry(visit: Open) -> None:
    visited = visit(sample())

    visited.page.goto(visited.page.url + "#n22")
    visited.page.reload()

    assert visited.shown() == [3, 4, 7, 9, 21, 22]


@pytest.mark.full
def test_everything_can_be_shown_and_hidden_again(visit: Open) -> None:
    visited = visit(sample())
    before = visited.shown()

    visited.page.click("#asides")
    everything = visited.shown()
    visited.page.click("#asides")

    hidden = {5, 6, 8, 21, 22}  # results, which stand with their calls, and the other branch
    assert everything == [n for n in range(len(sample())) if n not in hidden]
    assert visited.shown() == before


@pytest.mark.full
def test_tool_calls_and_thinking_unfold_and_fold(visit: Open) -> None:
    page = visit(sample()).page
    thinking = page.locator("details.thinking").first
    thinking_text = thinking.locator(".words")

    assert not thinking_text.is_visible()
    thinking.locator("summary").click()
    assert thinking_text.is_visible()
    thinking.locator("summary").click()
    assert not thinking_text.is_visible()
    page.click("#unfold")
    assert page.evaluate("[...document.querySelectorAll('article details')].every(d => d.open)")
    page.click("#unfold")
    assert not page.evaluate("[...document.querySelectorAll('article details')].some(d => d.open)")


@pytest.mark.full
@pytest.mark.behaviour("export-page-behaves")
def test_selecting_text_toggles_nothing(visit: Open) -> None:
    page = visit(sample()).page
    subject = page.locator("details.tool .subject").first
    box = subject.bounding_box()
    is_open = "document.querySelector('details.tool').open"
    before = page.evaluate(is_open)

    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()

    assert page.evaluate("getSelection().toString()") in "src/engine.py:1-20"
    assert page.evaluate("getSelection().toString().length") > 5
    assert page.evaluate(is_open) == before


@pytest.mark.full
@pytest.mark.behaviour("export-page-behaves")
def test_no_key_of_the_browser_is_intercepted(visit: Open) -> None:
    page = visit(sample()).page
    page.evaluate(
        "window.taken = []; window.addEventListener('keydown',"
        " event => event.defaultPrevented && taken.push(event.key))"
    )

    for key in ("/", "t", "o", "f", "Escape", "Enter", " ", "Control+t", "Control+o", "Control+f"):
        page.keyboard.press(key)
    page.focus("#find")
    for key in ("/", "t", "Escape", "Control+f", "ArrowDown"):
        page.keyboard.press(key)

    assert page.evaluate("taken") == []


@pytest.mark.full
def test_search_finds_words_in_folded_parts_and_on_other_branches(visit: Open) -> None:
    visited = visit(sample())
    page = visited.page

    page.fill("#find", "ONCE TOO OFTEN")
    page.press("#find", "Enter")
    folded = page.locator("details.thinking .words").first.is_visible()
    page.fill("#find", "built everywhere")
    page.press("#find", "Enter")

    assert folded
    assert page.inner_text("#found") == "1 of 1"
    assert page.locator("article.current").get_attribute("data-n") == "22"
    assert visited.shown() == [3, 4, 7, 9, 21, 22]
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)") == ["built everywhere"]


@pytest.mark.full
def test_search_steps_through_all_that_was_found(visit: Open) -> None:
    page = visit(sample()).page
    numbers = []

    page.fill("#find", "total")
    for key in ("Enter", "Enter", "Shift+Enter"):
        page.press("#find", key)
        numbers.append(page.locator("article.current").get_attribute("data-n"))
    page.fill("#find", "no such words")
    page.locator("#found", has_text="0 found").wait_for()

    assert numbers == ["3", "4", "3"]


@pytest.mark.full
@pytest.mark.timing  # the browser stores the choice a moment after the click
def test_the_page_follows_the_colour_scheme_of_the_system_until_the_user_chooses(
    visit: Open,
) -> None:
    page = visit(sample(), color_scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    seen = [page.evaluate(background)]

    page.click("#theme")
    seen.append(page.evaluate(background))
    page.emulate_media(color_scheme="light")
    page.click("#theme")
    seen.append(page.evaluate(background))
    page.reload()
    seen.append(page.evaluate(background))

    assert seen == [DARK, LIGHT, DARK, DARK]


@pytest.mark.full
def test_a_phone_needs_no_horizontal_scrolling(visit: Open) -> None:
    page = visit(sample(), width=360, has_touch=True, is_mobile=True).page
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    page.click("#unfold")
    folded = page.evaluate(widths)

    page.click("#menu")
    outline = page.locator("#outline a").first.is_visible()
    page.click("#outline a >> text=Thank you.")

    assert folded == page.evaluate(widths) == [360, 360]
    assert outline
    assert not page.evaluate("document.body.classList.contains('menu')")


@pytest.mark.full
@pytest.mark.parametrize("count", sampled((500, 5000), 1))
def test_thousands_of_entries_can_be_searched(visit: Open, count: int) -> None:
    visited = visit(long_session(count))
    visited.page.fill("#find", f"Question {count // 5 - 1}")
    visited.page.press("#find", "Enter")

    assert (visited.problems, visited.page.inner_text("#found")) == ([], "1 of 1")
