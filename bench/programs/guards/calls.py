"""CPU time of one tool call in ms: ``calls on|off KIND CALLS``.

``on`` has permissions, secrets, rewind and the sandbox; KIND is ``read``, ``edit`` or ``bash``.
Printed is the mean of this process: what the commands themselves need is not part of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.programs.secrets.masking import secrets
from pi.base.clock import SystemClock
from pi.batteries.permissions.adapter import extension as permissions
from pi.batteries.rewind.adapter import extension as rewind
from pi.batteries.sandbox.adapter import extension as sandbox
from pi.batteries.secrets.adapter import extension as secrets_guard
from pi.testing import calls, make_session, says

FILES = 200
CONTENT = "a line of a program\n" * 100
WARM_UP = 10
SETTINGS: dict[str, Any] = {
    "permissions": {"mode": "auto-edit", "deny": ["Read(.env)", "Bash(git push:*)"]},
    "secrets": {"enabled": True},
    "rewind": {"enabled": True},
    "sandbox": {"enabled": True},
}


def step(kind: str, number: int) -> Any:
    """An answer of the model with one call."""
    name = f"module{number % FILES}.py"
    match kind:
        case "read":
            return calls("read", path=name)
        case "edit":
            return calls("write", path=name, content=f"{number}\n{CONTENT}")
        case _:
            return calls("bash", command=f"ls -la {name}")


async def main(guards: str, kind: str, count: int) -> None:
    """A prompt that fills the caches, then the measured one."""
    is_on = guards == "on"
    environ = {"PATH": os.environ["PATH"]}
    environ |= {f"S{number}_KEY": value for number, value in enumerate(secrets(20))}
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        for number in range(FILES):
            (project / f"module{number}.py").write_text(f"{number}\n{CONTENT}")
        session = await make_session(
            Path(folder),
            *(step(kind, number) for number in range(WARM_UP)),
            says("ready"),
            *(step(kind, number) for number in range(count)),
            says("done"),
            clock=SystemClock(),
            environ=environ,
            extensions=[permissions, secrets_guard, rewind, sandbox] if is_on else [],
            settings=(SETTINGS if is_on else {}) | {"compaction": {"enabled": False}},
        )
        async with session:
            await session.start()
            await session.prompt("begin")
            began = time.process_time()
            await session.prompt("go")
            spent = time.process_time() - began
            failed = [m for m in session.messages if getattr(m, "is_error", False)]
            assert not failed, failed[0]
    print(spent / count * 1e3)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
