"""Sessions whose model operates Chromium, and a loopback application."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import Image, Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.browser.adapter import extension
from pi.batteries.browser.chromium import find_chromium
from pi.extension import ToolFailed
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

PATHS = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
HTML = "text/html; charset=utf-8"


def has_chromium() -> bool:
    try:
        find_chromium(PATHS)
    except ToolFailed:
        return False
    return True


needs_chromium = pytest.mark.skipif(not has_chromium(), reason="Chromium is not installed")

LOGIN = """<!doctype html><title>Log in</title><h1>Log in</h1>
<form method=post action=/session>
<label>User <input name=user></label><label>Password <input name=password type=password></label>
<label>Role <select name=role><option value=r>Reader<option value=w>Writer</select></label>
<button>Enter</button></form>"""
APPLICATION = """<!doctype html><title>Tasks</title><div id=root>Loading</div><script>
const tasks = [];
function draw() {
  root.innerHTML = '<h1>Tasks of ' + window.user + '</h1><input id=new aria-label="New task">'
    + '<button id=add>Add</button><ul>' + tasks.map(t => '<li>' + t).join('') + '</ul>';
  add.onclick = () => { tasks.push(document.getElementById('new').value);
    history.pushState({}, '', '/tasks/' + tasks.length); draw(); console.log('added'); };
}
fetch('/user').then(r => r.json()).then(u => { window.user = u.name; draw(); });
fetch('/missing'); console.error('a problem');
</script>"""


@asynccontextmanager
async def browsing(
    tmp_path: Path, *steps: Any, allow: tuple[str, ...] = (), **options: Any
) -> AsyncIterator[ExtensionFixture]:
    """A session whose model makes these calls of ``browser``."""
    settings = {"browser": {"enabled": True}, "web": {"allowHosts": list(allow)}}
    settings |= options.pop("settings", {})
    script = tuple(
        calls("browser", **step) if isinstance(step, Mapping) else step for step in steps
    )
    environ = PATHS | options.pop("environ", {})
    async with extension_session(
        tmp_path,
        extension,
        steps=(*script, says("done")),
        settings=settings,
        environ=environ,
        **options,
    ) as hosted:
        yield hosted


def results(hosted: ExtensionFixture) -> list[str]:
    """The results as texts: errors start with ``! ``, pictures are shown as their type."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [
        ("! " if message.is_error else "")
        + "\n".join(
            part.text if isinstance(part, Text) else part.mime_type for part in message.content
        )
        for message in messages
    ]


def pictures(hosted: ExtensionFixture) -> list[Image]:
    """The pictures in the results."""
    messages = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [part for message in messages for part in message.content if isinstance(part, Image)]


async def browse(
    tmp_path: Path, *steps: Any, allow: tuple[str, ...] = (), **options: Any
) -> list[str]:
    """Make the calls and return the results."""
    async with browsing(tmp_path, *steps, allow=allow, **options) as hosted:
        await hosted.session.prompt("go")
        assert hosted.failures == []
        return results(hosted)


def ref_of(text: str, label: str) -> int:
    """The ref of an element in a tree."""
    matched = re.search(rf"{re.escape(label)} \[ref=(\d+)\]", text)
    assert matched is not None, text
    return int(matched[1])
