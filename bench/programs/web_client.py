"""The browser client in Chromium: how long a long session takes to open, and whether it stutters.

Run with `.venv/bin/python -m bench.programs.web_client`. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from pi.ai.messages import AssistantMessage, Text, UserMessage
from pi.coding.session.entries import MessageEntry
from pi.testing import says
from tests.batteries.collab.sessions import Person, person, relay_running

TASKS = """
window.longest = 0;
window.tasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) {
    window.tasks.push(Math.round(each.duration));
    window.longest = Math.max(window.longest, each.duration);
  }
}).observe({type: 'longtask'});
"""


def turn(number: int) -> tuple[UserMessage, AssistantMessage]:
    """One prompt and its answer."""
    text = f"## Answer {number}\n\n" + "Some *words* about `it`. " * 30
    answer = AssistantMessage(
        content=(Text(text=text),), api="faux", provider="faux", model="m", stop_reason="stop"
    )
    return UserMessage(content=(Text(text=f"Question {number}"),)), answer


async def opened(chromium: Any, host: Person) -> Any:
    """A page that shows the session."""
    assert host.sharing.host is not None
    page = await (await chromium.new_context()).new_page()
    await page.add_init_script(TASKS)
    await page.goto(host.sharing.host.link.page())
    await page.locator("#status[data-kind=live]").wait_for()
    return page


async def streamed(host: Person, page: Any, piece: str, count: int) -> dict[str, Any]:
    """Stream ``count`` updates, 50 in a second, and report the tasks that took over 50 ms."""
    await page.wait_for_timeout(1000)
    await page.evaluate("longest = 0, tasks = []")
    room = host.sharing.host.room  # type: ignore[union-attr]
    wake = host.sharing.host.client.wake  # type: ignore[union-attr]

    def send(event: dict[str, Any]) -> None:
        room.broadcast({"t": "event", "event": event})
        wake()

    send({"type": "agent_start"})
    send({"type": "message_start", "message": {"role": "assistant", "content": []}})
    for _ in range(count):
        inner = {"type": "text_delta", "contentIndex": 0, "delta": piece}
        send({"type": "message_update", "assistantMessageEvent": inner})
        await asyncio.sleep(0.02)
    await page.wait_for_timeout(500)
    shown = await page.evaluate("document.querySelector('.live').innerText.length")
    send({"type": "agent_settled"})
    tasks = await page.evaluate("tasks")
    return {"characters": shown, "tasks over 50 ms": tasks}


async def measure() -> dict[str, Any]:
    """All figures."""
    from playwright.async_api import async_playwright

    found: dict[str, Any] = {}
    path = shutil.which("chromium") or shutil.which("google-chrome")
    async with async_playwright() as engines:
        chromium = await engines.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with tempfile.TemporaryDirectory() as folder:
            async with relay_running() as relay, person(Path(folder), "hanna", says("ok")) as host:
                log = host.session.entries.log
                for number in range(2500):
                    for message in turn(number):
                        log.append(MessageEntry(message=message))
                await host.run(f"/collab {relay.address}")
                times = []
                for _ in range(5):
                    page = await opened(chromium, host)
                    mark = "performance.getEntriesByName('pi-open')[0].startTime"
                    times.append(round(await page.evaluate(mark)))
                    await page.context.close()
                found["5,000 entries open, ms"] = sorted(times)
                page = await opened(chromium, host)
                prose = "Some *words* about `it`, and more of them.\n\n"
                found["prose, 50 updates/s"] = await streamed(host, page, prose, 250)
                code = "    value = call(argument)  # a line\n"
                fenced = await streamed(host, page, "```python\n" + code * 3, 1)
                found["code"] = fenced
                found["one paragraph"] = await streamed(host, page, " word" * 36, 250)
                await host.sharing.stop()
        await chromium.close()
    return found


if __name__ == "__main__":
    json.dump(asyncio.run(measure()), sys.stdout, indent=1)
    print()
