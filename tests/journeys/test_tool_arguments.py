"""Arguments of tool calls that are not quite what a tool declares."""

from __future__ import annotations

from tests.journeys.program import Journey

TOOL = '''
from pi.extension import tool

@tool
def build(run: str, times: int = 1, tags: list[str] = [], label: str | None = None) -> str:
    """Build it."""
    return repr((run, times, tags, label))
'''


def test_a_number_for_a_text_and_a_text_for_a_number_are_converted(journey: Journey) -> None:
    journey.home.write("tools/build.py", TOOL)
    journey.model.calls("build", run=3)
    journey.model.calls("build", run="x", times="4", tags=[1, 2.5], label=7)
    journey.model.calls("build", run=True)
    journey.model.calls("write", path="f.txt", content=5)
    assert journey.pi("-p", "build").code == 0

    number, text, boolean, written = journey.model.results_of()
    assert number == "('3', 1, [], None)"
    assert text == "('x', 4, ['1', '2.5'], '7')"
    assert "run: must be a string (got boolean)" in boolean
    assert written == "Successfully wrote to f.txt"
    assert (journey.home.cwd / "f.txt").read_text() == "5"


def test_an_address_is_not_written_as_a_file(journey: Journey) -> None:
    for address in ("https://example.com/x", "foo://x"):
        journey.model.calls("write", path=address, content="text")
    assert journey.pi("-p", "write").code == 0

    assert journey.model.results_of() == [
        "https://example.com/x is an address, not a file. Nothing was written.",
        "foo://x is an address, not a file. Nothing was written.",
    ]
    assert [*journey.home.cwd.iterdir()] == []


def test_ssh_accepts_path_and_web_search_its_specified_names(journey: Journey) -> None:
    journey.home.use_settings(
        ssh={"hosts": ["box"], "connectSeconds": 1},
        web_search={"enabled": True},
        searxng={"endpoint": "http://127.0.0.1:9"},
    )
    journey.model.calls("ssh", host="box", action="read", path="/etc/motd")
    assert journey.pi("-p", "look").code == 0

    assert "needs remotePath" not in journey.model.results_of()[0]
    tools = {t["function"]["name"]: t["function"] for t in journey.model.last["tools"]}
    declared = tools["web_search"]["parameters"]["properties"]
    assert {"max_tokens", "num_search_results"} <= declared.keys()
