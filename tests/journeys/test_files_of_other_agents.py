"""Files of other agents whose front matter is no YAML."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


def test_commands_skills_and_instructions_that_are_no_yaml_are_used(journey: Journey) -> None:
    files = {
        ".claude/commands/fix.md": "---\nargument-hint: [issue] [priority]\n"
        "description: Use when: it breaks\n---\nFix $0 with $1, not $2.",
        ".claude/skills/deploy/SKILL.md": "---\nname: deploy\n"
        "description: Deploys: staging first, <example>now</example>\n---\nDeploy.",
        ".github/instructions/py.instructions.md": "---\napplyTo: **/*.py\n---\nTYPED-PYTHON",
        ".opencode/command/ship.md": "---\ndescription: Ship: all\n---\nShip $1.",
    }
    for name, text in files.items():
        journey.home.write_work(name, text)
    with journey.rpc("--approve") as client:
        names = {row["name"]: row for row in client.request("get_commands")["commands"]}
        client.prompts("/fix bug 'very high'")
        client.prompts("/ship it")

    assert names["fix"]["description"] == "Use when: it breaks"
    sent = [str(request["messages"][-1]["content"]) for request in journey.model.requests]
    assert "Fix bug with very high, not $2." in sent[0]
    assert "Ship it." in sent[1]
    assert "Deploys: staging first" in journey.model.prompt_of()


def test_front_matter_that_cannot_be_read_is_named_with_its_line(journey: Journey) -> None:
    journey.home.write_work(".claude/commands/bad.md", "---\nname: x\nno field\n---\nDo it.")
    ended = journey.pi("--approve", "-p", "hello")

    assert "bad.md" in ended.err
    assert "line 3 is not `name: value`" in ended.err


def test_files_that_a_command_of_claude_code_mentions_are_attached(journey: Journey) -> None:
    journey.home.write_work(".claude/commands/look.md", "Look at @data.txt, @.env and @../secret.")
    journey.home.write_work("data.txt", "DATA")
    journey.home.write_work("more.txt", "MORE")
    journey.home.write_work(".env", "TOKEN=hidden-value")
    (journey.folder / "secret").write_text("OUTSIDE")
    journey.home.use_settings(permissions={"mode": "auto-edit"})
    journey.pi("--approve", "-p", "/look @more.txt")

    sent = str(journey.model.last["messages"][-1]["content"])
    assert "DATA" in sent and "MORE" in sent and "Look at @data.txt, @.env" in sent
    assert "hidden-value" not in sent and "OUTSIDE" not in sent


def test_rules_of_two_agents_with_the_same_file_name_are_both_used(journey: Journey) -> None:
    always = "---\nalwaysApply: true\n---\n"
    journey.home.write_work(".cursor/rules/style.mdc", f"{always}Cursor says so.")
    journey.home.write_work(".windsurf/rules/style.md", f"{always}Windsurf says so.")
    journey.home.write_work(".agents/rules/style.md", f"{always}Cursor says so.")
    journey.home.use_settings(rulebook={"enabled": True})
    journey.pi("--approve", "-p", "hello")

    prompt = journey.model.prompt_of()
    assert prompt.count("Cursor says so.") == 1
    assert prompt.count("Windsurf says so.") == 1


def test_instructions_of_a_folder_reach_the_model_with_the_first_file_read_there(
    journey: Journey,
) -> None:
    journey.home.write_work("AGENTS.md", "TOP")
    journey.home.write_work("part/AGENTS.md", "OF-THE-PART")
    journey.home.write_work("part/deep/a.txt", "text")
    journey.home.write_work("part/deep/b.txt", "text")
    journey.model.calls("read", path="part/deep/a.txt")
    journey.model.calls("read", path="part/deep/b.txt")
    journey.pi("--approve", "-p", "hello")

    assert "OF-THE-PART" not in str(journey.model.requests[0])
    assert str(journey.model.requests[1]).count("OF-THE-PART") == 1
    assert str(journey.model.last["messages"]).count("OF-THE-PART") == 1

    # A resumed session has them already; without trust they are not read.
    journey.model.calls("read", path="part/deep/a.txt")
    journey.pi("--approve", "--continue", "-p", "again")
    assert str(journey.model.last["messages"]).count("OF-THE-PART") == 1
    journey.model.calls("read", path="part/deep/a.txt")
    ended = journey.pi("--no-approve", "-p", "again")
    assert "OF-THE-PART" not in str(journey.model.last)
    assert "part/AGENTS.md was not read: this project is not trusted." in ended.err


@pytest.mark.parametrize("mode", ["print", "json", "rpc", "acp", "terminal"])
def test_a_rule_whose_front_matter_is_broken_is_named_once_and_used(
    journey: Journey, mode: str
) -> None:
    journey.home.use_settings(rulebook={"enabled": True}, ttsr={"enabled": True})
    journey.home.write_work(
        ".pi/rules/bad.md", "---\nalwaysApply: true\nno field\n---\nUse tabs everywhere."
    )
    if mode == "terminal":
        with journey.terminal("--approve") as user:
            user.submits("hello")
            user.sees("All is well.", "bad.md:")
            assert "only its other lines" in " ".join(user.screen.split())
            shown = user.tape
    elif mode == "rpc":
        with journey.rpc("--approve") as client:
            client.prompts("hello")
        shown = client.err
    elif mode == "acp":
        with journey.acp("--approve") as editor:
            editor.prompts(editor.opens(), "hello")
        shown = editor.err
    else:
        shown = journey.pi(
            "--approve", *(["-p"] if mode == "print" else ["--mode", "json"]), "hello"
        ).err
    assert shown.count("bad.md") == 1
    assert "Use tabs everywhere." in journey.model.prompt_of()


def test_the_model_that_a_command_of_claude_code_names_answers_it(journey: Journey) -> None:
    journey.home.use_model(journey.model, "one", "two-haiku")
    journey.home.use_settings(defaultProvider="loop", defaultModel="one")
    for name in ("haiku", "no-such-model"):
        journey.home.write_work(f".claude/commands/ask-{name}.md", f"---\nmodel: {name}\n---\nHi.")
    with journey.rpc("--approve") as client:
        for text in ("/ask-haiku", "plain", "/ask-no-such-model"):
            client.prompts(text)

    assert [request["model"] for request in journey.model.requests] == ["two-haiku", "one", "one"]
    assert "names the model no-such-model, which is not available" in client.err
