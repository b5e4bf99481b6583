"""A scripted model in an extension file, as worker processes load it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MODEL = '''\
import json, os, time
from pathlib import Path
from pi.ai.errors import ProviderError
from pi.ai.messages import Text, Usage, UserMessage
from pi.ai.models.model import ModelCost
from pi.base.records import replace
from pi.testing import FAUX_MODEL, ScriptedProvider, Reply, calls, says

PIDS = {pids!r}
if PIDS:
    Path(PIDS).mkdir(exist_ok=True)
    (Path(PIDS) / str(os.getpid())).touch()


def answer(call):
    """The prompt is the script: the words `say`, `fail`, `write`, `loop`, `sleep`."""
    texts = [m for m in call.messages if isinstance(m, UserMessage)]
    asked = texts[-1].content
    if not isinstance(asked, str):
        asked = "".join(block.text for block in asked if isinstance(block, Text))
    last = call.messages[-1]
    word, _, rest = asked.partition(" ")
    usage = Usage(input=1000, output=0)
    if word == "fail":
        return ProviderError("500 the server is on fire")
    if word == "die":
        os.kill(os.getpid(), 9)
    if word == "sleep" and isinstance(last, UserMessage):
        return replace(calls("bash", command="sleep " + rest), usage=usage)
    if word == "loop":
        return replace(calls("bash", command="true"), usage=usage)
    if word == "write" and isinstance(last, UserMessage):
        name, _, content = rest.partition(" ")
        return replace(calls("write", path=name, content=content), usage=usage)
    return replace(says("ok: " + asked), usage=usage)


def extension(pi):
    model = replace(FAUX_MODEL, cost=ModelCost(input={price!r}))
    pi.register_provider(ScriptedProvider(answer, models=(model,)))
'''


def write_model(folder: Path, *, price: float = 0.0, pids: Path | None = None) -> Path:
    """Write the extension; a call of its model costs ``price`` / 1000 dollars."""
    path = folder / "scripted_model.py"
    path.write_text(MODEL.format(price=price, pids="" if pids is None else str(pids)))
    return path


def write_tasks(path: Path, tasks: Iterable[Mapping[str, Any]]) -> Path:
    """Write a task file."""
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return path


def rows(folder: Path) -> list[dict[str, Any]]:
    """The whole rows of a batch; a row that is being written is left out."""
    file = folder / "results.jsonl"
    data = file.read_bytes() if file.exists() else b""
    found = []
    for line in data.split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:  # truncated by a kill and terminated by the next run
            continue
    return found
