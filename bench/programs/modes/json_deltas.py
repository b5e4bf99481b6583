"""JSON mode prints an answer from memory: ``json_deltas DELTAS``.

Prints the CPU milliseconds of the last thousand deltas, measured when they are written.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import create_models
from pi.ai.messages import Text
from pi.base.clock import SystemClock
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.modes.headless import PromptInput, run_json
from pi.modes.stdio import Output
from pi.testing import Reply, ScriptedProvider

THOUSAND = 1000


class Watched(Output):
    """Notes the time after every thousand lines."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.lines = 0
        self.times: list[float] = []

    def write(self, data: bytes) -> None:
        """Count, and write."""
        if self.lines % THOUSAND == 0:
            self.times.append(time.process_time())
        self.lines += 1
        super().write(data)


async def main(deltas: int) -> None:
    """Run JSON mode with the answer."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        host = Machine.from_environ({"HOME": folder, "PI_OFFLINE": "1"}, agent_dir=home)
        models = create_models(
            storage=AuthStorage(home / "auth.json"),
            environ=host.environ,
            clock=SystemClock(),
            cwd=home,
            folder=home,
        )
        # A text with as many words: the provider streams one after another.
        text = " ".join(str(number) for number in range(deltas))
        models.register(ScriptedProvider(Reply(blocks=(Text(text=text),))))
        parts = SessionOverrides(registry=ModelRegistry(models), persistent=False)
        built = await assemble(home, host, SessionOptions(model="faux/faux"), parts)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        output = Watched(nowhere)
        await run_json(built.session, [PromptInput(text="hi")], output, print)
        await output.close()
        await built.session.close()
    print((output.times[-1] - output.times[-2]) * 1e3)


asyncio.run(main(int(sys.argv[1])))
