"""Files of other agents whose front matter is no YAML."""

from __future__ import annotations

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
