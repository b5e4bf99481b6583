"""Rows of ``/settings`` that promise "at once": each is changed and read back by its effect."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.journeys.model_server import calls, fails, says
from tests.journeys.program import Journey
from tests.journeys.terminal import DOWN, ENTER, ESCAPE, Terminal

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
"""What pi says about its settings; a test compares it with the program."""
CTRL_G, CTRL_U = "\x07", "\x15"
SAMPLE = frozenset({"permissions.deny", "shellCommandPrefix", "compaction.reserveTokens"})
"""Settings that every run of the tests changes."""

Effect = Callable[[Journey, Terminal], None]


class Change(NamedTuple):
    """A value that a user chooses or types, and a function that fails without its effect."""

    value: Any
    effect: Effect
    settings: dict[str, Any]
    """What ``settings.json`` has before."""


CHANGES: dict[str, Change] = {}


def effect_of(name: str, value: Any, **settings: Any) -> Callable[[Effect], Effect]:
    """Register a function that reads the effect of a setting."""

    def register(effect: Effect) -> Effect:
        CHANGES[name] = Change(value, effect, settings)
        return effect

    return register


def change(user: Terminal, name: str, value: Any) -> None:
    """Change a row of ``/settings``: choose a value, or type it."""
    user.submits("/settings")
    user.shows("Type to search")
    user.types(name)
    user.shows(f"({name})")
    user.types(ENTER)
    user.settles()
    text = value if isinstance(value, str) else json.dumps(value)
    label = {"true": "on", "false": "off"}.get(text, text)
    if "Enter choose" in user.screen:
        for _ in range(20):
            if re.search(rf"→ {re.escape(text)}\b", user.screen):
                break
            user.types(DOWN)
            user.settles()
        user.types(ENTER)
    elif "Enter accept" in user.screen:
        user.types(CTRL_U + text)
        user.settles()
        user.types(ENTER)
    else:  # Enter goes through two or three values
        for _ in range(3):
            if re.search(rf"→ .*\s{re.escape(label)}$", user.screen, re.MULTILINE):
                break
            user.types(ENTER)
            user.settles()
    user.settles()
    user.types(ESCAPE)
    user.loses("Escape close")


def runs(user: Terminal, command: str, *shown: str) -> None:
    """Run a command of the user, and wait for text that it has not typed."""
    user.submits(command)
    user.settles()
    user.sees(*shown)


def calls_bash(journey: Journey, user: Terminal, command: str) -> str:
    """Let the model call ``bash``; return the result."""
    return calls_tool(journey, user, "bash", command=command)


def calls_tool(journey: Journey, user: Terminal, tool: str, **arguments: Any) -> str:
    """Let the model call a tool; return the result."""
    done = f"The call of {tool} is over."
    journey.model.script(calls(tool, **arguments), says(done))
    user.submits("go")
    user.sees(done)
    return journey.model.results_of()[-1]


# Models, conversation -------------------------------------------------------------------------


def queue(journey: Journey, user: Terminal, *keys: str) -> None:
    """Queue two messages while the model answers."""
    released = journey.model.hold("The first answer.")
    user.submits("start")
    journey.model.wait_until_held()
    for text in ("alpha", "beta"):
        user.types(text + (keys[0] if keys else ENTER))
        user.shows(f": {text}")  # not settles: the spinner moves
    released.set()
    user.sees("All is well.")
    user.settles()


@effect_of("steeringMode", "all")
def steering_mode(journey: Journey, user: Terminal) -> None:
    queue(journey, user)
    texts = [str(message["content"]) for message in journey.model.requests[1]["messages"]]
    assert any("alpha" in text for text in texts)
    assert any("beta" in text for text in texts)


@effect_of("followUpMode", "all")
def follow_up_mode(journey: Journey, user: Terminal) -> None:
    queue(journey, user, "\x1b\r")
    texts = [str(message["content"]) for message in journey.model.requests[1]["messages"]]
    assert any("alpha" in text for text in texts)
    assert any("beta" in text for text in texts)


@effect_of("doubleEscapeAction", "fork")
def double_escape_action(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    user.types(ESCAPE)
    user.settles()
    user.types(ESCAPE)
    user.shows("Fork")


@effect_of("treeFilterMode", "user-only")
def tree_filter_mode(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/tree", "Session Tree")
    assert "All is well." not in user.screen.partition("Session Tree")[2]


# Compaction -----------------------------------------------------------------------------------


def previews(user: Terminal, *shown: str) -> None:
    """Read what ``/compact --preview`` says."""
    runs(user, "/compact --preview", *shown)


@effect_of("compaction.enabled", False)
def compaction_enabled(journey: Journey, user: Terminal) -> None:
    user.shows("no auto-compact")
    previews(user, "tokens; not compacted automatically")


@effect_of("compaction.strategy", "shake")
def compaction_strategy(journey: Journey, user: Terminal) -> None:
    previews(user, "shake")


@effect_of("compaction.reserveTokens", 28_000)
def reserve_tokens(journey: Journey, user: Terminal) -> None:
    previews(user, "100,000")


@effect_of("compaction.reservePercent", 50)
def reserve_percent(journey: Journey, user: Terminal) -> None:
    previews(user, "64,000")


@effect_of("compaction.thresholdPercent", 25)
def threshold_percent(journey: Journey, user: Terminal) -> None:
    previews(user, "32,000")


@effect_of("compaction.thresholdTokens", 12_345)
def threshold_tokens(journey: Journey, user: Terminal) -> None:
    previews(user, "12,345")


@effect_of("compaction.modelOverrides", {"loop/one": {"reserveTokens": 28000}})
def model_overrides(journey: Journey, user: Terminal) -> None:
    previews(user, "100,000")


# Screen ---------------------------------------------------------------------------------------


@effect_of("editor.mode", "vim")
def editor_mode(journey: Journey, user: Terminal) -> None:
    user.shows("INSERT")


@effect_of("editor.attachFiles", True)
def attach_files(journey: Journey, user: Terminal) -> None:
    journey.home.write_work("heron.txt", "A heron wades.")
    user.submits("look at @heron.txt please")
    user.sees("All is well.")
    assert "A heron wades." in json.dumps(journey.model.last["messages"])


@effect_of("editorPaddingX", 3)
def editor_padding(journey: Journey, user: Terminal) -> None:
    user.shows("\n   Ask anything")


@effect_of("outputPad", 0)
def output_pad(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "\nAll is well.")


@effect_of("autocompleteMaxVisible", 12)
def autocomplete_max_visible(journey: Journey, user: Terminal) -> None:
    user.types("/")
    user.settles()
    assert len(re.findall(r"(?m)^(?:→ |  )[a-z-]+ ", user.screen)) == 12


@effect_of("markdown.codeBlockIndent", ">>>> ")
def code_block_indent(journey: Journey, user: Terminal) -> None:
    journey.model.says("```\nheron = 1\n```\n")
    runs(user, "hello", ">>>> heron = 1")


@effect_of("tui.statusEngine.items", ["model"], tui={"statusEngine": True})
def status_items(journey: Journey, user: Terminal) -> None:
    user.settles()
    assert "sandbox" not in user.screen.rpartition("────")[2]


@effect_of("tui.statusEngine.enabled", False, tui={"statusEngine": {"command": "echo heron"}})
def status_enabled(journey: Journey, user: Terminal) -> None:
    user.loses("heron")


@effect_of("tui.statusEngine.command", "echo heron", tui={"statusEngine": {"provider": "command"}})
def status_command(journey: Journey, user: Terminal) -> None:
    user.shows("heron")


@effect_of("tui.statusEngine.file", "heron.txt", tui={"statusEngine": {"provider": "file"}})
def status_file(journey: Journey, user: Terminal) -> None:
    journey.home.write_work("heron.txt", "A heron wades.\n")
    user.submits("hello")
    user.shows("A heron wades.")


# Tools ----------------------------------------------------------------------------------------


@effect_of("defaultTools", ["read"])
def default_tools(journey: Journey, user: Terminal) -> None:
    runs(user, "/new", "New session started")
    user.submits("go")
    user.sees("All is well.")
    assert journey.model.tools_of() == ["read"]


@effect_of("externalEditor", "sh -c 'echo from the editor > $0'")
def external_editor(journey: Journey, user: Terminal) -> None:
    user.types(CTRL_G)
    user.shows("from the editor")


@effect_of("shellPath", "/bin/dash")
def shell_path(journey: Journey, user: Terminal) -> None:
    assert "dash" in calls_bash(journey, user, "readlink /proc/$$/exe")


@effect_of("shellCommandPrefix", "x=heron")
def shell_command_prefix(journey: Journey, user: Terminal) -> None:
    assert "a heron wades" in calls_bash(journey, user, "echo a $x wades")


@effect_of("shell.wrapper", "env HERON=wades")
def shell_wrapper(journey: Journey, user: Terminal) -> None:
    assert "it wades" in calls_bash(journey, user, "echo it $HERON")


@effect_of("shell.login", True)
def shell_login(journey: Journey, user: Terminal) -> None:
    (journey.home.path / ".bash_profile").write_text("export HERON=wades\n")
    (journey.home.path / ".profile").write_text("export HERON=wades\n")
    assert "it wades" in calls_bash(journey, user, "echo it $HERON")


@effect_of("shell.env.allow", ["HERON_API_KEY"])
def shell_env_allow(journey: Journey, user: Terminal) -> None:
    assert "it wades" in calls_bash(journey, user, "echo it $HERON_API_KEY")


@effect_of("shell.env.deny", ["HERON"])
def shell_env_deny(journey: Journey, user: Terminal) -> None:
    assert "it flies" not in calls_bash(journey, user, "echo it $HERON")


@effect_of(
    "bashInterceptor.rules",
    [{"pattern": "^heron", "tool": "read", "message": "Use read for herons."}],
    bashInterceptor={"enabled": True},
)
def interceptor_rules(journey: Journey, user: Terminal) -> None:
    assert "Use read for herons." in calls_bash(journey, user, "heron --wade")


@effect_of("mcp.maxOutputTokens", 10, mcp={"enabled": True})
def mcp_max_output_tokens(journey: Journey, user: Terminal) -> None:
    city = "heron " * 200
    result = calls_tool(journey, user, "mcp__sky__weather", city=city)
    assert len(result) < len(city)


@effect_of("todo.reminders", 0, todo={"enabled": True})
def todo_reminders(journey: Journey, user: Terminal) -> None:
    add = {"op": "append", "phase": "Home", "items": ["Cook"]}
    calls_tool(journey, user, "todo", ops=[add])
    user.settles()
    assert len(journey.model.requests) == 2


@effect_of("web.allowHosts", ["127.0.0.1:PORT"], web={"pages": True})
def allow_hosts(journey: Journey, user: Terminal) -> None:
    result = calls_tool(journey, user, "read", path=f"{journey.model.url}/models")
    assert "one" in result


# Guards ---------------------------------------------------------------------------------------


@effect_of("permissions.deny", ["Bash(touch *)"])
def permissions_deny(journey: Journey, user: Terminal) -> None:
    calls_bash(journey, user, "touch gone")
    assert not (journey.home.cwd / "gone").exists()


@effect_of("permissions.ask", ["Read(heron.txt)"], permissions={"mode": "ask"})
def permissions_ask(journey: Journey, user: Terminal) -> None:
    journey.home.write_work("heron.txt", "A heron wades.")
    journey.model.calls("read", path="heron.txt")
    user.submits("go")
    user.shows("Allow read")
    user.types("n")
    user.sees("All is well.")
    assert "wades" not in journey.model.results_of()[-1]


@effect_of("permissions.allow", ["Bash(touch *)"], permissions={"mode": "ask"})
def permissions_allow(journey: Journey, user: Terminal) -> None:
    calls_bash(journey, user, "touch made")
    assert (journey.home.cwd / "made").exists()


@effect_of("files.sensitive", "refuse")
def files_sensitive(journey: Journey, user: Terminal) -> None:
    journey.home.write_work(".env", "KEY=TOP-SECRET-4711\n")
    assert "4711" not in calls_tool(journey, user, "read", path=".env")


@effect_of("batteries", "recommended")
def recommended(journey: Journey, user: Terminal) -> None:
    user.submits("go")
    user.sees("All is well.")
    assert {"todo", "task"} <= {*journey.model.tools_of()}


@effect_of("defaultProjectTrust", "always")
def project_trust(journey: Journey, user: Terminal) -> None:
    journey.home.write_work("AGENTS.md", "Herons wade.\n")
    runs(user, "/reload", "Reloaded")
    user.submits("go")
    user.sees("All is well.")
    assert "Herons wade." in json.dumps(journey.model.last["messages"])


# Batteries ------------------------------------------------------------------------------------


@effect_of("modelRoles", {"smol": "loop/two"})
def model_roles(journey: Journey, user: Terminal) -> None:
    runs(user, "/roles", "Model roles", "loop/two")


@effect_of("cycleOrder", ["smol", "default"], modelRoles={"smol": "loop/two"})
def cycle_order(journey: Journey, user: Terminal) -> None:
    user.types("\x10")
    user.shows("(loop) two")


@effect_of("share.command", ["sh", "-c", "echo https://heron.example/"])
def share_command(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/share", "https://heron.example/")


@effect_of("share.store", "blob")
def share_store(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/share", "No share server is configured.")


@effect_of("share.serverUrl", "https://heron.example/s", share={"store": "blob"})
def share_server(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/share", "heron.example")


@effect_of("share.expireDays", 3, share={"store": "blob", "serverUrl": "https://heron.example/s"})
def share_days(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/share", "3 days")


@effect_of("share.target", "heron")
def share_target(journey: Journey, user: Terminal) -> None:
    runs(user, "hello", "All is well.")
    runs(user, "/share", "Unknown share target heron")


@effect_of("enableSkillCommands", False)
def skill_commands(journey: Journey, user: Terminal) -> None:
    user.types("/skill")
    user.settles()
    assert "skill:wading" not in user.screen


# Network --------------------------------------------------------------------------------------


@effect_of("retry.enabled", False)
def retry_enabled(journey: Journey, user: Terminal) -> None:
    journey.model.script(fails(503, "The heron is away."))
    runs(user, "hello", "The heron is away.")
    assert len(journey.model.requests) == 1


@effect_of("retry.maxRetries", 1, retry={"baseDelayMs": 1})
def retry_count(journey: Journey, user: Terminal) -> None:
    journey.model.script(*[fails(503, "The heron is away.")] * 9)
    runs(user, "hello", "The heron is away.")
    user.settles()
    assert len(journey.model.requests) == 2


@effect_of("retry.baseDelayMs", 1, retry={"baseDelayMs": 3_600_000})
def retry_delay(journey: Journey, user: Terminal) -> None:
    journey.model.script(fails(503, "The heron is away."))
    runs(user, "hello", "All is well.")


@effect_of("httpIdleTimeoutMs", 300, retry={"enabled": False})
def idle_timeout(journey: Journey, user: Terminal) -> None:
    released = journey.model.hold("A heron wades.")
    user.submits("hello")
    user.sees("✗")
    released.set()


@effect_of("images.blockImages", True)
def block_images(journey: Journey, user: Terminal) -> None:
    picture = Path(__file__).parents[2] / "docs"
    pictures = sorted(picture.rglob("*.png"))
    (journey.home.cwd / "heron.png").write_bytes(pictures[0].read_bytes())
    user.pastes(str(journey.home.cwd / "heron.png"))
    user.types(" ")
    user.submits("look")
    user.sees("All is well.")
    assert "image_url" not in json.dumps(journey.model.last["messages"])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.full) for name in CHANGES],
)
def test_a_setting_that_counts_at_once_does(journey: Journey, name: str) -> None:
    value, effect, settings = CHANGES[name]
    journey.home.use_model(journey.model, "one", "two", reasoning=True, input=["text", "image"])
    journey.home.use_settings(**settings)
    journey.home.write("skills/wading/SKILL.md", "---\nname: wading\ndescription: d\n---\nx\n")
    server = {"command": "python3", "args": [str(Path(__file__).with_name("mcp_server.py"))]}
    if name.startswith("mcp"):
        journey.home.write("mcp.json", json.dumps({"mcpServers": {"sky": server}}))
    journey.environ |= {"HERON": "flies", "HERON_API_KEY": "wades"}
    with journey.terminal() as user:
        user.shows("Ask anything")
        user.settles()
        port = journey.model.url.split(":")[2].partition("/")[0]
        change(user, name, ["127.0.0.1:" + port] if name == "web.allowHosts" else value)
        effect(journey, user)


def test_every_change_above_is_of_a_row_that_promises_at_once() -> None:
    rows = re.findall(r"(?m)^\| `([\w.]+)` \|.*\| at once \|$", REFERENCE.read_text("utf-8"))
    assert len(rows) > 150
    assert not CHANGES.keys() - {*rows}
