from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.options import SessionOptions
from tests.modes.golden.model_answers import Answer, Piece, answers
from tests.modes.golden.model_server import model_server
from tests.modes.golden.recording import FOLDER, SERVER, Got, Json, Sent, Step, merged
from tests.modes.golden.replay_home import ReplayHome
from tests.modes.golden.replaying import Replay, ReplayClock, rpc_session

EXTENSIONS = Path(__file__).parent / "extensions"

NO_LLAMA, OTHER_TOOLS, OTHER_ID = {"commands"}, {"text"}, {"fromId"}
OTHERWISE = {
    # compat/rpc.md: "pi itself always lists `/llama`", an extension that ours does not have.
    1: NO_LLAMA,
    # style.md 1.7: "problems the model can fix go to the model", so it gets the list of tools.
    **dict.fromkeys((131, 140, 141, 142, 150), OTHER_TOOLS),
    # An id, which is another one in every session.
    229: OTHER_TOOLS | OTHER_ID,
}
"""What ours says differently, by place in the recording."""


def steps_of(name: str) -> list[Step]:
    """A recording, with the extension that it was made with in our language."""
    lines = (FOLDER / "rpc" / f"{name}.log").read_text("utf-8").replace(".ts", ".py").split("\n")
    steps: list[Step] = [
        Sent(line=line[2:]) if line.startswith(">") else Got(record=json.loads(line[2:]))
        for line in lines
        if line
    ]
    return merged(steps)


async def replayed(recording: str, extension: str, folder: Path, *, skill: bool) -> Replay:
    steps = steps_of(recording)
    async with model_server([*answers(steps), summary()]) as models:
        replay_home = ReplayHome(folder, models.url)
        path = replay_home.folder / "ext" / f"{extension}.py"
        path.parent.mkdir()
        source = (EXTENSIONS / f"{extension}.py").read_text()
        path.write_text(source.replace(SERVER, models.url))
        if skill:
            replay_home.add_skill()
        options = SessionOptions(
            model="mock/mock-r", extensions=ExtensionOptions(discover=False, paths=(str(path),))
        )
        replay = Replay(steps, models, ReplayClock())
        async with rpc_session(replay_home, ReplayClock(), options) as client:
            await replay.run(client)
    return replay


def summary() -> Answer:
    """What the model said about a branch that was left; only the tree shows it."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    text = "## Goal\nbranch summary text"
    chunks: list[Json] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    lines = [*map(json.dumps, chunks), "[DONE]"]
    data = "".join(f"data: {line}\n\n" for line in lines).encode()
    return Answer(pieces=(Piece(place=0, data=data),), summary=True)


@pytest.mark.slow
@pytest.mark.behaviour("tool-hooks-chain")
async def test_results_of_extension_handlers_have_the_recorded_effect(tmp_path: Path) -> None:
    replay = await replayed("extension-hook-results", "ret", tmp_path / "lab", skill=True)

    assert (replay.differing, replay.equal) == ({}, 207)


@pytest.mark.slow
async def test_dialogs_entries_and_moves_of_extensions_look_as_recorded(tmp_path: Path) -> None:
    replay = await replayed("extension-ui-and-tree", "spy", tmp_path / "lab", skill=False)

    differing = {
        index: {difference.partition(":")[0].rpartition(".")[2] for difference in differences}
        for index, differences in replay.differing.items()
    }
    assert (differing, replay.equal) == (OTHERWISE, 193)
