"""The application in a real terminal, with a script: ``python -m tests.modes.interactive.program``.

The argument is a folder for everything it writes; with ``--long`` the answer has 3,000 lines,
and half of them wait for ``gate``, a pipe in the project.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pi.ai.messages import Text, Thinking
from pi.ai.providers.faux import Reply, call
from pi.ai.request import Call
from pi.base.clock import SystemClock
from pi.coding.trust import TrustChoice
from pi.modes.interactive.app import run
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.interactive.ui import Commands, Ui
from tests.screens.long_answer import long_answer

SOURCE = '"""Greets people."""\n\n\ndef greet(name: str) -> str:\n    return "Hello " + name\n'

ANSWER = """\
I changed `greet` so that an empty name is **refused**.

## What is different

1. `greet` raises `ValueError` for an empty name.
2. The greeting uses an f-string.

| case | before | after |
|---|---|---|
| `greet("Ada")` | `Hello Ada` | `Hello, Ada!` |
| `greet("")` | `Hello ` | `ValueError` |

```python
def greet(name: str) -> str:
    if not name:
        raise ValueError("a name is needed")
    return f"Hello, {name}!"
```

> All tests pass. See [the docs](https://example.org/greet) for more.
"""


class Script:
    """Returns the next reply for each request; starts again after the last one."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies
        self._calls = 0

    def __call__(self, call: Call) -> Reply:
        """The reply."""
        self._calls += 1
        return self._replies[(self._calls - 1) % len(self._replies)]


REPLIES = [
    Reply(
        blocks=(
            Thinking(thinking="The user wants **greet** to be careful. Read it first."),
            Text(text="I'll look at the code first."),
            call("read", path="greet.py"),
            call("read", path="README.md", offset=1, limit=20),
        )
    ),
    Reply(blocks=(call("bash", command="sleep 1; seq 1 30; echo done"),)),
    Reply(
        blocks=(
            call(
                "edit",
                path="greet.py",
                edits=[
                    {
                        "oldText": '    return "Hello " + name',
                        "newText": "    if not name:\n"
                        '        raise ValueError("a name is needed")\n'
                        '    return f"Hello, {name}!"',
                    }
                ],
            ),
        )
    ),
    Reply(blocks=(call("bash", command="python3 -c 'import nothing'"),)),
    Reply(blocks=(Text(text=ANSWER),)),
]


LONG = [
    Reply(blocks=(Text(text=long_answer(1500)), call("bash", command="cat gate"))),
    Reply(blocks=(Text(text=long_answer(1500, first=1500)),)),
]


def main(folder: Path, replies: Sequence[Reply]) -> int:
    """Run it."""
    home = folder / "home"
    cwd = home / "project"
    agent_dir = home / ".pi" / "agent"
    for path in (cwd, agent_dir, folder / "tmp"):
        path.mkdir(parents=True, exist_ok=True)
    if not (cwd / "gate").exists():
        os.mkfifo(cwd / "gate")
    (cwd / "greet.py").write_text(SOURCE)
    (cwd / "README.md").write_text("# Greetings\n\nSay hello.\n")
    environ = {**os.environ, "HOME": str(home)}
    start = AppOptions(
        load=lambda: None,
        load_rest=lambda: None,
        open=lambda opening: _open(opening, replies, environ),
        commands=_commands,
        ask_trust=_never,
        environ=environ,
        cwd=cwd,
        home=home,
        agent_dir=agent_dir,
        clock=SystemClock(),
    )
    asyncio.run(run(start))
    return 0


async def _open(
    opening: OpenContext, replies: Sequence[Reply], environ: dict[str, str]
) -> OpenedSession:
    from pi.coding.runtime.assemble import assemble
    from pi.coding.runtime.machine import Machine
    from pi.coding.runtime.models import discover_models
    from pi.coding.runtime.options import SessionOptions, SessionOverrides
    from pi.testing import ScriptedProvider

    host = Machine.from_environ(environ, report=opening.report)
    registry = discover_models(host, Path(environ["HOME"]))
    registry.models.register(ScriptedProvider(Script(replies)))
    cwd = Path(environ["HOME"]) / "project"
    built = await assemble(
        cwd, host, SessionOptions(model="faux/faux"), SessionOverrides(registry=registry)
    )
    return OpenedSession(port=built.session, host=host, lines=("pi 0.1 · greet.py, README.md",))


def _commands(ui: Ui) -> Commands:
    from pi.modes.interactive.commands.table import BuiltInCommands

    return BuiltInCommands(ui)


async def _never(ui: Ui, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), LONG if "--long" in sys.argv else REPLIES))
