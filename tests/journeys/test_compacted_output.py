"""What a compaction left out can be read again."""

from __future__ import annotations

import re

from tests.journeys.program import Journey


def test_the_model_reads_output_again_that_shake_has_left_out(journey: Journey) -> None:
    journey.home.use_settings(compaction={"strategy": "shake", "keepRecentTokens": 500})
    journey.home.write_work("big.txt", "".join(f"line {number}\n" for number in range(1500)))
    journey.home.write_work("small.txt", "word " * 500)
    journey.model.calls("read", path="big.txt")
    journey.model.says("Read.")
    journey.model.calls("read", path="small.txt")
    journey.model.says("Read too.")
    with journey.rpc("--tools", "read,ls") as client:
        client.prompts("read the big file")
        client.prompts("read the small file")
        result = client.request("compact")
        client.prompts("and now?")
        pointer = re.search(r"read (entry://\w+)\]", journey.model.results_of()[0])
        assert pointer is not None, journey.model.results_of()[0]
        journey.model.calls("read", path=pointer[1], offset=7, limit=2)
        journey.model.calls("ls", path="entry://")
        journey.model.calls("read", path="entry://00000000")
        client.prompts("read it again")

    assert result["summary"] == "1 large tool results were left out."
    again, listed, unknown = journey.model.results_of()[-3:]
    assert again.startswith("line 6\nline 7\n")
    assert pointer[1].removeprefix("entry://") in listed
    assert unknown == "This session has no entry 00000000."


def test_a_summary_instead_of_shake_says_why(journey: Journey) -> None:
    journey.home.use_settings(compaction={"keepRecentTokens": 5})
    journey.model.says("One.", "Two.", "Three.")
    with journey.terminal() as user:
        for prompt in ("first " * 40, "second " * 40, "third " * 40):
            user.submits(prompt)
            user.settles()
        user.submits("/compact strategy:shake")
        user.sees("shake: There is no large tool result", "Compacted with context-full instead.")


def test_the_model_does_not_read_commands_that_the_user_kept_from_it(journey: Journey) -> None:
    with journey.rpc() as client:
        client.request("bash", command="echo for-me-only", excludeFromContext=True)
        client.prompts("hello")
        entries = client.request("get_entries")["entries"]
        hidden = next(e for e in entries if e.get("message", {}).get("role") == "bashExecution")
        journey.model.calls("read", path=f"entry://{hidden['id']}")
        client.prompts("read it")

    assert journey.model.results_of() == [f"The entry {hidden['id']} has no text for the model."]


def test_grep_searches_a_stored_output(journey: Journey) -> None:
    journey.model.calls("bash", command="seq 1 30000")
    journey.model.calls("grep", pattern="^2999[0-2]$", path="artifact://0")
    ended = journey.pi("-p", "--tools", "bash,grep", "count")

    assert ended.code == 0
    stored = journey.model.results_of()[-1]
    assert [line.split()[-1] for line in stored.splitlines()] == ["29990", "29991", "29992"]
