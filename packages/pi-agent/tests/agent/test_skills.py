from __future__ import annotations

import pytest

from pi.agent.skills import INTRODUCTION, Skill, expand_skill, skills_section

PDF = Skill(
    name="pdf",
    description="Read <PDF> & more",
    location="/skills/pdf/SKILL.md",
    content="\nUse pdftotext.\n\nThen look.\n",
)
SECRET = Skill(
    name="secret",
    description="For people",
    location="/skills/secret.md",
    content="Hush.",
    disable_model_invocation=True,
)
OPENING = '<skill name="pdf" location="/skills/pdf/SKILL.md">'
EXPANDED = f"""\
{OPENING}
References are relative to /skills/pdf.

Use pdftotext.

Then look.
</skill>"""


def test_the_prompt_lists_where_skills_are_and_not_their_content() -> None:
    assert skills_section([PDF, SECRET]) == (
        f"<skills>\n{INTRODUCTION}\n\n"
        """\
<available_skills>
  <skill>
    <name>pdf</name>
    <description>Read &lt;PDF&gt; &amp; more</description>
    <location>/skills/pdf/SKILL.md</location>
  </skill>
</available_skills>
</skills>"""
    )


@pytest.mark.parametrize("skills", [[], [SECRET]])
def test_without_visible_skills_the_prompt_has_no_skills_section(skills: list[Skill]) -> None:
    assert skills_section(skills) is None


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("/skill:pdf", EXPANDED),
        ("/skill:pdf \n", EXPANDED),
        ("/skill:pdf  a.pdf\nand b.pdf ", f"{EXPANDED}\n\na.pdf\nand b.pdf"),
        ("/skill:pdf\nmore", f"{EXPANDED}\n\nmore"),
    ],
)
def test_a_skill_command_is_expanded_to_the_content_of_the_skill(text: str, expanded: str) -> None:
    assert expand_skill(text, [PDF, SECRET]) == expanded


def test_users_may_call_skills_that_are_hidden_from_the_model() -> None:
    assert "Hush." in expand_skill("/skill:secret", [PDF, SECRET])


@pytest.mark.parametrize(
    "text", ["", "hello", "/skill:", "/skill:unknown x", " /skill:pdf", "see /skill:pdf", "/skills"]
)
def test_text_without_a_known_skill_command_is_unchanged(text: str) -> None:
    assert expand_skill(text, [PDF]) == text
