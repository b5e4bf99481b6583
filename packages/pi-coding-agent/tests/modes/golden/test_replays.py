from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.base.records import Record
from pi.coding.runtime.options import SessionOptions
from tests.modes.golden.comparing import Comparison
from tests.modes.golden.differences import (
    ABORT,
    ABSENT,
    ANTHROPIC,
    CHAT,
    COMPACTION,
    DIFFERENCES,
    QUERIES,
    RESPONSES,
    RETRIES,
    TALK,
    UNASKED_SUMMARIES,
    absent,
    of,
)
from tests.modes.golden.model_answers import answers
from tests.modes.golden.model_server import EVERYTHING, model_server
from tests.modes.golden.recording import (
    Got,
    Json,
    Step,
    json_steps,
    merged,
    rpc_steps,
    says_nothing,
    usages,
)
from tests.modes.golden.replay_home import ReplayHome
from tests.modes.golden.replaying import Pair, Replay, ReplayClock, in_one_order, rpc_session
from tests.sampling import sampled

MODEL = SessionOptions(model="mock/mock-r")
SMALL_KEEP = {"compaction": {"keepRecentTokens": 200, "reserveTokens": 1000}}
MAX_DIFFERENT = 0.05
"""Part of all records that may be listed as different."""


class Outcome(Record):
    """The result of one replay."""

    equal: int
    differing: dict[int, frozenset[str]]
    differences: dict[int, list[str]]
    """The differences as text, for the report of a failure."""

    def check(self, recording: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Everything that differs is listed, and everything that is listed differs."""
        with capsys.disabled():
            sys.stdout.write(
                f"\n{recording}: {self.equal} records match exactly,"
                f" {len(self.differing)} differ as listed\n"
            )
        unlisted = {
            index: self.differences.get(index)
            for index, paths in self.differing.items()
            if of(recording).get(index) != paths
        }
        assert unlisted == {}
        assert of(recording).keys() - self.differing.keys() == set()


def outcome(equal: int, differences: dict[int, list[str]], absent: list[int]) -> Outcome:
    paths = {
        index: frozenset(difference.partition(":")[0] for difference in lines)
        for index, lines in differences.items()
    }
    return Outcome(
        equal=equal,
        differences=differences,
        differing=paths | dict.fromkeys(absent, frozenset({ABSENT})),
    )


async def replayed(
    recording: str, replay_home: Path, options: SessionOptions, settings: Json, *, skill: bool
) -> Outcome:
    steps = rpc_steps(recording)
    async with model_server(answers(steps)) as models:
        home = ReplayHome(replay_home, models.url)
        home.write_settings(settings)
        if skill:
            home.add_skill()
        clock = ReplayClock()
        replay = Replay(steps, models, clock, left_out=absent(recording))
        async with rpc_session(home, clock, options) as client:
            await replay.run(client)
        assert models.unasked == (0, UNASKED_SUMMARIES.get(recording, 0))
    return outcome(replay.equal, replay.differing, replay.absent)


@pytest.mark.parametrize(
    ("recording", "name", "settings", "skill"),
    sampled(
        [
            (QUERIES, None, {}, False),
            (TALK, "golden one", {}, False),
            (ABORT, None, {}, True),
            (RETRIES, None, {}, False),
            (COMPACTION, None, SMALL_KEEP, False),
        ],
        keep=2,
    ),
)
@pytest.mark.slow
@pytest.mark.behaviour("prompt-answers-once")
@pytest.mark.behaviour("stream-events-are-complete")
async def test_rpc_mode_emits_the_records_of_the_original_pi(
    recording: str,
    name: str | None,
    settings: Json,
    skill: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = SessionOptions(model="mock/mock-r", name=name)
    result = await replayed(recording, tmp_path / "lab", options, settings, skill=skill)

    result.check(recording, capsys)


async def json_lines(steps: list[Step], lab_folder: Path, *arguments: str) -> list[Json]:
    async with model_server(answers(steps)) as models:
        await models.allow(EVERYTHING)
        replay_home = ReplayHome(lab_folder, models.url)
        replay_home.add_skill() if "--system-prompt" in arguments else None
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pi", "--mode", "json", *arguments),
            cwd=replay_home.project,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={"HOME": str(replay_home.home), "PATH": os.environ["PATH"]},
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return [json.loads(replay_home.as_recorded(line)) for line in output.decode().splitlines()]


@pytest.mark.parametrize(
    ("recording", "arguments"),
    sampled(
        [
            (CHAT, ["--model", "mock/mock-r", "look at a.txt"]),
            (ANTHROPIC, ["--model", "mockant/mock-a", "--system-prompt", "SP", "hi"]),
            (RESPONSES, ["--model", "mockres/mock-o", "--system-prompt", "SP", "hi"]),
        ],
        keep=1,
    ),
)
async def test_json_mode_emits_the_records_of_the_original_pi(
    recording: str,
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps = json_steps(recording)
    ours = await json_lines(steps, tmp_path / "lab", *arguments)
    reported = [step.record for step in merged([Got(record=record) for record in ours])]  # type: ignore[union-attr]

    absent = [index for index, step in enumerate(steps) if says_nothing(_record(step))]
    expected = [index for index in range(len(steps)) if index not in absent]
    comparison = Comparison(usages(steps))
    pairs = [
        Pair(index, _record(steps[index]), record)
        for index, record in zip(expected, reported, strict=True)
    ]
    differences = {
        pair.place: texts
        for pair in in_one_order(pairs)
        if (texts := comparison.differences(pair.recorded, pair.ours))
    }
    outcome(len(expected) - len(differences), differences, absent).check(recording, capsys)


def _record(step: Any) -> Json:
    assert isinstance(step, Got)
    return step.record


async def test_a_null_line_and_a_number_are_answered_where_the_original_crashed(
    tmp_path: Path,
) -> None:
    # Issue 6: "Where the original has a defect (a `null` line crashes it …) we do the right thing".
    clock = ReplayClock()
    replay_home = ReplayHome(tmp_path / "lab", "http://127.0.0.1:9")
    async with rpc_session(replay_home, clock, MODEL) as client:
        client.send("null")
        client.send("123")
        reported = [await client.next(), await client.next()]

    bad = {"type": "response", "success": False, "error": "Unknown command: undefined"}
    assert reported == [bad, bad]


def test_at_most_one_record_in_twenty_is_listed_as_different() -> None:
    recordings = [rpc_steps(name) for name in (QUERIES, TALK, ABORT, RETRIES, COMPACTION)]
    recordings += [json_steps(name) for name in (CHAT, ANTHROPIC, RESPONSES)]
    records = sum(isinstance(step, Got) for steps in recordings for step in steps)

    assert len(DIFFERENCES) <= MAX_DIFFERENT * records
