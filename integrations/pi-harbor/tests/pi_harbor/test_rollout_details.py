"""Token ids of a trial are its rollout details, which training reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.modes.acp.harbor.runs import Reply
from tests.pi_harbor.oracle import PYTHON
from tests.pi_harbor.test_trials import trial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="needs scripts/oracles"),
]


async def test_token_ids_are_rollout_details(tmp_path: Path) -> None:
    call = ("c1", "bash", {"command": "true"})
    first = Reply(calls=(call,), ids=((1, 2), (10, 11)))
    second = Reply(text="Done.", ids=((1, 2, 10, 11, 3), (12,)))
    async with trial(tmp_path, first, second) as task:
        file = task.home.agent_dir / "models.json"
        document = json.loads(file.read_text())
        document["providers"]["mock"]["models"][0]["compat"] = {"returnTokenIds": True}
        file.write_text(json.dumps(document))
        report = await task.run()

    (details,) = report["context"]["rollout_details"]
    assert details["prompt_token_ids"] == [[1, 2], [1, 2, 10, 11, 3]]
    assert details["completion_token_ids"] == [[10, 11], [12]]
    assert details["logprobs"] == [[-0.01, -0.011], [-0.012]]
    assert report["invalid"] == []
