"""What a battery adds to a request: as much as the list says, and nothing once it is off."""

from __future__ import annotations

import json
from typing import Any

from tests.journeys.json_clients import RpcClient
from tests.journeys.program import Journey

VALUES = {"ssh": ["web"], "edit-variants": "hashline"}
"""Values of batteries whose setting needs one."""
NOT_SWITCHED = {
    "auth-broker": "needs a server",
    "collab": "starts a relay",
}
KEYS = {"TAVILY_API_KEY": "k", "OPENAI_API_KEY": "k"}
"""Without keys, the tools for searches and pictures are not declared."""
CHARACTERS_PER_TOKEN = 4


def _request(journey: Journey, client: RpcClient) -> tuple[str, Any]:
    """The system prompt and the tools of the next request."""
    client.prompts("hi")
    return journey.model.prompt_of(), journey.model.last.get("tools", [])


def _size(request: tuple[str, Any]) -> int:
    prompt, tools = request
    return (len(prompt) + len(json.dumps(tools, separators=(",", ":")))) // CHARACTERS_PER_TOKEN


def test_every_battery_adds_what_the_list_says_and_leaves_nothing(journey: Journey) -> None:
    differing = {}
    with journey.rpc("--model", "loop/one", **KEYS) as client:
        before = _request(journey, client)
        rows = client.request("get_extensions")["extensions"]
        names = {tool["function"]["name"] for tool in before[1]}
        for row in rows:
            name = row["name"]
            if not row["setting"] or name in NOT_SWITCHED:
                continue
            value = {"value": VALUES[name]} if name in VALUES else {}
            client.request("set_extension", name=name, enabled=True, keep=False, **value)
            during = _request(journey, client)
            client.request("set_extension", name=name, enabled=False, keep=False)
            after = _request(journey, client)

            added = _size(during) - _size(before)
            tools = {tool["function"]["name"] for tool in during[1]} - names - {"resolve"}
            is_listed = tools <= {*row["tools"]}
            is_close = abs(added - (row["tokens"] or 0)) <= 5 + added // 20
            if after != before or not is_listed or not is_close:
                differing[name] = (after == before, tools, row["tools"], added, row["tokens"])
    assert differing == {}
