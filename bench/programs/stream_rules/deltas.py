"""Microseconds of CPU per delta that the policies of a session take: ``deltas KIND RULES``.

``text`` streams prose, ``write`` the arguments of a call that writes a file. The end of the answer,
at which all of it is matched once more, is included. Without rules the battery is off.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pi.agent.policy import Policy, Request, overriding
from pi.ai.builder import MessageBuilder
from pi.ai.events import TextDelta, ToolCallDelta
from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.stream_rules.adapter import extension
from pi.testing import make_session

DELTAS = 20_000
WORDS = ("def ", "some_name", "(first", ", second", "):\n", "    return ", "first", " + 1\n")
RULES = (
    r"\bforbidden_{n}\b",
    r"except{n}\s*:\s*pass",
    r"console{n}\.log\(",
    r"(?:TODO|FIXME)\({n}\)",
    r"password{n}\s*=\s*['\"][^'\"]+['\"]",
)


def write_rules(folder: Path, count: int) -> None:
    """Write so many different rules of the user, each with one pattern."""
    rules = folder / "home/.pi/agent/rules"
    rules.mkdir(parents=True)
    for number in range(count):
        pattern = RULES[number % len(RULES)].replace("{n}", str(number))
        text = f"---\ncondition: {json.dumps(pattern)}\n---\nDo not.\n"
        (rules / f"rule-{number}.md").write_text(text)
    settings = {"ttsr": {"enabled": count > 0, "builtinRules": False}}
    (folder / "home/.pi/agent/settings.json").write_text(json.dumps(settings))


async def cost(policies: Sequence[Policy], kind: str) -> float:
    """Microseconds per delta of one answer that is built, and streamed to ``policies``."""
    before, after, watchers = overriding(policies, "before_request", "after_answer", "on_delta")
    request = Request(model=FAUX_MODEL, thinking="off", messages=(), tools=())
    for policy in before:
        await policy.before_request(request)
    builder = MessageBuilder(FAUX_MODEL, now_ms=0)
    builder.start()
    if kind == "write":
        builder.tool_call("c", "1", "write")
        builder.arguments("c", '{"path": "a.py", "content": "')
    pieces = [WORDS[number % len(WORDS)] for number in range(DELTAS)]
    written = [json.dumps(piece)[1:-1] for piece in pieces]
    began = time.process_time()
    if kind == "write":
        for piece in written:
            builder.arguments("c", piece)
            for watcher in watchers:
                watcher.on_delta(ToolCallDelta(content_index=0, delta=piece), builder.message)
    else:
        for piece in pieces:
            builder.text("c", piece)
            for watcher in watchers:
                watcher.on_delta(TextDelta(content_index=0, delta=piece), builder.message)
    if kind == "write":
        builder.arguments("c", '"}')
    builder.finish("stop")
    assert builder.final is not None
    for policy in after:
        await policy.after_answer(builder.final)
    return (time.process_time() - began) / DELTAS * 1e6


async def main(kind: str, rules: int) -> None:
    """Print the difference to the same answer without policies."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_rules(folder, rules)
        session = await make_session(folder, extensions=[extension])
        try:
            await session.start()
            session.prompts.next_request()  # the tools of the next run, for previews
            found = session.extensions.hosting.host.contributed.policies()
            (watching,) = overriding(found, "on_delta")
            await cost(watching, kind)
            print(await cost(watching, kind) - await cost((), kind))
        finally:
            await session.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
