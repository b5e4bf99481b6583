"""How each battery is switched, and how a request, a file or the screen shows that it works.

A battery that is not listed here works if a request declares one of its tools.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.journeys.doors import Door
from tests.journeys.model_server import Answer, says
from tests.journeys.program import Journey

Json = dict[str, Any]
EVERYWHERE = frozenset({"print", "rpc", "terminal"})
WITH_USER = frozenset({"rpc", "terminal"})
SECRET = "sk-of-the-matrix-0123456789abcdef"
TITLE_SECONDS = 0.5
"""A title is requested in the background, together with the first prompt."""
FULL = {"prompt_tokens": 31_000, "completion_tokens": 5}
"""The usage of an answer that fills the window of the model ``one``."""
ENVIRON = {
    "JOURNEY_API_KEY": SECRET,
    "PI_RPC_EMIT_TITLE": "1",
    "GOOGLE_API_KEY": "k",  # an image model; no picture is made
    "TAVILY_API_KEY": "k",  # a provider of web searches; none is made
}


@dataclass(frozen=True)
class Battery:
    """A row of ``pi extensions list --json``, and how to see that the battery works."""

    row: Json
    works: Callable[[Door], bool]
    """Use the session behind a door; return whether the battery is at work there."""
    value: object = None
    """The value that switches it on; ``None`` for batteries that need none."""
    off: object = None
    """The value in the settings file that switches it off; ``None`` removes it."""
    doors: frozenset[str] = EVERYWHERE
    """Where ``works`` is visible; elsewhere the state in the list is checked."""

    @property
    def name(self) -> str:
        """The name in the list."""
        return str(self.row["name"])

    @property
    def stored(self) -> object:
        """The value in the settings file that switches it on."""
        return self.name if self.row["setting"] == "compaction.strategy" else self.value or True

    @property
    def has_definitions(self) -> bool:
        """Whether the value consists of what a user wrote, which no switch deletes."""
        return self.name in ("hooks", "model-roles")

    @property
    def typed(self) -> tuple[str, ...]:
        """The value as an argument in the shell, if it needs one."""
        if self.value is None:
            return ()
        return (self.value if isinstance(self.value, str) else json.dumps(self.value),)


def prepare(journey: Journey) -> None:
    """Write what the batteries work with: models, rules, a server, an archive."""
    home = journey.home
    models = [
        {"id": "one", "contextWindow": 32_000},
        {"id": "large", "contextWindow": 500_000},
        {"id": "eyes", "input": ["text", "image"]},
    ]
    provider = {
        "baseUrl": journey.model.url,
        "api": "openai-completions",
        "apiKey": "k",
        "models": models,
    }
    home.write("models.json", json.dumps({"providers": {"loop": provider}}))
    home.use_settings(
        defaultProvider="loop",
        defaultModel="one",
        contextPromotionTarget="loop/large",
        share={"serverUrl": "http://127.0.0.1:9/s"},
    )
    home.write("rules/herons.md", "---\ndescription: Rules about grey herons\n---\nNone.\n")
    home.write("rules/toads.md", "---\ncondition: green toads\n---\nName no toads.\n")
    server = {"command": sys.executable, "args": [str(Path(__file__).with_name("mcp_server.py"))]}
    home.write("mcp.json", json.dumps({"mcpServers": {"sky": server}}))
    with zipfile.ZipFile(home.cwd / "pack.zip", "w") as archive:
        archive.writestr("inside.txt", "x")
    (home.cwd / "dot.png").write_bytes(_dot())
    journey.environ.update(ENVIRON)
    # Sandboxed commands may write to the folder of temporary files.
    temporary = journey.folder / "temporary"
    temporary.mkdir()
    journey.environ["TMPDIR"] = str(temporary)


def find_batteries(journey: Journey) -> list[Battery]:
    """Return all batteries that pi lists, in its order."""
    rows = json.loads(journey.pi("extensions", "list", "--json").out)
    return [_battery(row) for row in rows if row["rank"] == "bundled"]


def _battery(row: Json) -> Battery:
    known = EFFECTS.get(row["name"])
    if known is not None:
        return known(row=row)
    doors = WITH_USER if row["name"] == "ask" else EVERYWHERE
    return Battery(row, partial(_declares, names=set(row["tools"])), doors=doors)


# Effects ------------------------------------------------------------------------------------------


def _declares(door: Door, names: set[str]) -> bool:
    return not names.isdisjoint(_declared(door.prompts("look")))


def _declared(requests: list[Json]) -> dict[str, Json]:
    """The declared tools by name, of the first request that has some."""
    tools = next((request["tools"] for request in requests if request.get("tools")), ())
    return {tool["function"]["name"]: tool for tool in tools}


def _definition(requests: list[Json], name: str) -> str:
    return json.dumps(_declared(requests).get(name))


def _asks_an_advisor(door: Door) -> bool:
    return len(door.prompts("look")) > 1


def _refuses_without_broker(door: Door) -> bool:
    return not door.prompts("look")


def _is_shared(door: Door) -> bool:
    door.prompts("look")  # sharing begins after the start of the session
    return bool(door.journey.pi("collab", "list").out.count(str(door.journey.home.cwd)))


def _takes_the_larger_model(door: Door) -> bool:
    door.journey.model.script(
        Answer(calls=(("read", {"path": "dot.txt"}),), usage=FULL), says("All is well.")
    )
    models = [request["model"] for request in door.prompts("look")]
    door.uses_model("loop", "one")
    return "large" in models


def _edits_by_patch(door: Door) -> bool:
    return "*** Begin Patch" in _definition(door.prompts("look"), "edit")


def _compacts_by(door: Door, strategy: str) -> bool:
    return door.strategy() == strategy


def _runs_the_hook(door: Door) -> bool:
    door.prompts("look")
    return door.leaves_file("hooked")


def _has_the_server(door: Door) -> bool:
    return any("weather" in name for name in _declared(door.prompts("look")))


def _uses_the_role(door: Door) -> bool:
    return "eyes" in {request["model"] for request in door.prompts("look", picture="dot.png")}


def _asks_before(door: Door) -> bool:
    door.journey.model.calls("bash", command="touch permitted")
    door.prompts("look")
    return not door.leaves_file("permitted")


def _offers_a_way_back(door: Door) -> bool:
    folder = door.journey.home.agent_dir / "extension-data" / "rewind"
    before = _sizes(folder)
    door.journey.model.calls("write", path="written.txt", content=f"{len(before)}{before}")
    door.prompts("look")
    door.leaves_file("written.txt")
    return _sizes(folder) != before


def _lists_archives(door: Door) -> bool:
    door.journey.model.calls("read", path="pack.zip")
    return "inside.txt (1 bytes)" in json.dumps(door.prompts("look")[-1]["messages"][-1])


def _lists_the_rule(door: Door) -> bool:
    return "grey herons" in json.dumps(door.prompts("look"))


def _keeps_commands_inside(door: Door) -> bool:
    outside = door.journey.folder / "outside.txt"
    door.journey.model.calls("bash", command=f"echo x > {outside}")
    door.prompts("look")
    is_written = outside.exists()
    outside.unlink(missing_ok=True)
    return not is_written


def _hides_secrets(door: Door) -> bool:
    requests = door.prompts(f"use {SECRET}")
    return bool(requests) and SECRET not in json.dumps(requests)


def _shares_at_the_relay(door: Door) -> bool:
    door.prompts("look")
    return "127.0.0.1:9" in door.types_command("/share")


def _offers_terminals(door: Door) -> bool:
    return '"pty"' in _definition(door.prompts("look"), "bash")


def _shows_status_lines(door: Door) -> bool:
    door.prompts("look")
    return bool(re.search(r"^ *(\d+m ?)?\d+s *$", door.rows_below_editor(), re.M))


def _interrupts(door: Door) -> bool:
    door.journey.model.says("There were green toads in the pond, and they sang.")
    return "Name no toads." in json.dumps(door.prompts("sing")[1:])


def _asks_for_a_title(door: Door) -> bool:
    door.prompts("look", first=True)
    return door.journey.model.receives("The title:", TITLE_SECONDS)


def _reads_pages(door: Door) -> bool:
    return "https://" in _definition(door.prompts("look"), "read")


HOOK = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}
EFFECTS: dict[str, Callable[..., Battery]] = {
    "advisor": partial(Battery, works=_asks_an_advisor),
    "auth-broker": partial(Battery, works=_refuses_without_broker, value="http://127.0.0.1:9"),
    "collab": partial(Battery, works=_is_shared, value="view", doors=WITH_USER),
    "context-promotion": partial(Battery, works=_takes_the_larger_model),
    "edit-variants": partial(Battery, works=_edits_by_patch, value="apply_patch"),
    "handoff": partial(Battery, works=partial(_compacts_by, strategy="handoff"), doors=WITH_USER),
    "hooks": partial(Battery, works=_runs_the_hook, value=HOOK, off=False),
    "mcp": partial(Battery, works=_has_the_server, off=False),
    "model-roles": partial(Battery, works=_uses_the_role, value={"vision": "loop/eyes"}),
    "permissions": partial(Battery, works=_asks_before, value="ask"),
    "plan": partial(Battery, works=partial(_declares, names={"propose_plan"})),
    "rewind": partial(Battery, works=_offers_a_way_back),
    "rich-files": partial(Battery, works=_lists_archives),
    "rulebook": partial(Battery, works=_lists_the_rule),
    "sandbox": partial(Battery, works=_keeps_commands_inside),
    "sealed-share": partial(
        Battery, works=_shares_at_the_relay, value="blob", doors=frozenset({"terminal"})
    ),
    "secrets": partial(Battery, works=_hides_secrets),
    "shell-session": partial(Battery, works=_offers_terminals),
    "snapcompact": partial(
        Battery, works=partial(_compacts_by, strategy="snapcompact"), doors=WITH_USER
    ),
    "ssh": partial(Battery, works=partial(_declares, names={"ssh"}), value=["web"]),
    "status-engine": partial(
        Battery,
        works=_shows_status_lines,
        value={"items": ["duration"]},
        doors=frozenset({"terminal"}),
    ),
    "stream-rules": partial(Battery, works=_interrupts),
    "titles": partial(Battery, works=_asks_for_a_title, doors=WITH_USER),
    "web-pages": partial(Battery, works=_reads_pages),
}


def _sizes(folder: Path) -> list[int]:
    return sorted(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _dot() -> bytes:
    """A picture of one pixel."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(4))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
