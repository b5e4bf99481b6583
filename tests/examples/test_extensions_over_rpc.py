"""Every example of an extension in the real program, driven over RPC."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.test_extensions import EXAMPLES, FOLDER
from tests.modes.rpc.peer import says, talking
from tests.sampling import sampled

COMMANDS = {
    "git_checkpoint": {"checkpoints"},
    "message_renderer": {"note"},
    "plan_mode": {"plan", "go"},
}
"""The commands of those that have some."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(EXAMPLES, keep=3))
async def test_an_example_is_loaded_and_a_prompt_is_answered(name: str, tmp_path: Path) -> None:
    arguments = ("--model", "mock/mock-r", "--no-extensions", "-e", str(FOLDER / f"{name}.py"))
    async with talking(tmp_path, says("hello"), arguments=arguments) as peer:
        listed = await peer.answer({"id": "1", "type": "get_commands"})
        await peer.send({"id": "2", "type": "prompt", "message": "hi"})
        reported = await peer.until(type="agent_settled")
        code = await peer.ended()

    found = {each["name"] for each in listed["data"]["commands"]}
    assert COMMANDS.get(name, set()) <= found
    assert [record for record in reported if record["type"] == "extension_error"] == []
    answers = [
        record["message"]["content"]
        for record in reported
        if record["type"] == "message_end" and record["message"]["role"] == "assistant"
    ]
    assert [content[0]["text"] for content in answers] == ["hello"]
    assert (code, peer.errors) == (0, "")
