"""The files of a user may name their JSON schema, for editors."""

from __future__ import annotations

import json

from tests.journeys.program import Journey

SCHEMA = "https://example.com/schema.json"


def test_every_file_may_name_its_schema(journey: Journey) -> None:
    for name in ("settings.json", "models.json"):
        path = journey.home.agent_dir / name
        path.write_text(json.dumps({"$schema": SCHEMA, **json.loads(path.read_text())}))
    journey.home.write("mcp.json", json.dumps({"$schema": SCHEMA, "mcpServers": {}}))
    journey.home.write("keybindings.json", json.dumps({"$schema": SCHEMA, "app.help": "f1"}))
    ended = journey.pi("-p", "hi")
    assert (ended.code, ended.err) == (0, "")
    checked = journey.pi("doctor")
    assert "schema" not in checked.out
    with journey.terminal() as user:
        user.shows("Ask anything")
        assert "schema" not in user.settles()
        user.types("\x1bOP")
        user.leaves()
    assert journey.home.settings["$schema"] == SCHEMA
