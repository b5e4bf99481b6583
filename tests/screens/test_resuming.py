"""A resumed session looks the same as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Text, Usage
from pi.ai.providers.faux import Step
from pi.coding.session.opening import open_session
from pi.testing import Reply, call, says, thinks
from tests.modes.interactive.app_fixture import AppFixture
from tests.sampling import sampled

PROSE = """\
# Heading with `code` and **bold**

Setext
======

Text with *em*, ~~gone~~, <b>html</b>, a [link](https://example.org/a "title"), <https://auto.example/>
and a hard break  
behind which it goes on\\
twice. $a^2 + b^2 = c^2$ and \\(y^2\\), but $5 and $10 are prices; &copy; and \\*escaped\\*.

- one
  - nested
    1. deep

    a paragraph of it
- [ ] open
- [x] done

3. three

   ```python
   def inside(): return 1
   ```
4. four

> quote
> > nested
> - list

---

$$
\\int_0^1 x dx
$$
"""

TABLES = """\
| short | b |
|:--|--:|
| 1 | `x` |

| column one is long | column two is much longer than that | third |
|---|---|---|
| words that have to wrap somewhere | 日本語の長いテキストがここにあります | 🎉🎉 👨‍👩‍👧‍👦 |
| https://example.org/very/long/without/any/break/in/it | x | a \\| b |

| a row | that is not
|---|---
| finished |
"""

CODE = "".join(
    f"```{language}\n{code}\n```\n\n"
    for language, code in (
        ("python", "@dec\nclass A:\n    '''doc'''\n    x: int = 1  # note"),
        ("sh", 'for i in *; do\n\techo "$i"\ndone'),
        ("diff", "-old\n+new"),
        ("nonsense", "what ?"),
        ("", "no language " + "x" * 90),
    )
)

UNFINISHED = """\
Begun **bold and `code and [link](http://x

- item
  ```
  never closed
  - no list
"""

ODD = """\
<div>
<p>a block</p>
</div>

Term
: no definition

1) paren

* loose

* list

\ttab

> lazy
continuation

混合 CJK と English と emoji 🎉 mixed 文字列, 折り返し、句読点。한국어도 있습니다. עברית ไทย हिन्दी

"""

ANSWERS = {
    "prose": says(PROSE),
    "tables": says(TABLES),
    "code": says(CODE),
    "unfinished": says(UNFINISHED),
    "odd": says(ODD + "A_long_word_" + "x" * 200 + "\n\n\n"),
    "thoughts": thinks(PROSE + UNFINISHED, Text(text="Done thinking.")),
}

TOOLS = Reply(
    blocks=(
        Text(text="I look first."),
        call("read", path="a.txt"),
        call("read", path="a.txt", offset=2, limit=1),
        call("read", path="missing.txt"),
        call("bash", command="seq 1 40; exit 3"),
        call("bash", command="printf 'a\\tb\\r\\n10%%\\r20%%\\n\\033[31mred\\033[0m'"),
        call("bash", command="true\necho two"),
        call("edit", path="a.txt", edits=[{"oldText": "two\t日本", "newText": "TWO\t日本語"}]),
        call("edit", path="a.txt", edits=[{"oldText": "not there", "newText": "x"}]),
        call("write", path="new.py", content="import os\n" * 20),
        call("grep", pattern="one"),
        call("nonsense", a=1, b="two"),
        call("bash", cmd="wrong"),
    )
)


async def conversation(
    tmp_path: Path, width: int, *steps: Step, expanded: bool, strategy: str = ""
) -> list[list[str]]:
    """Return the rows after a prompt was answered, and those after the session was resumed."""
    first = AppFixture(tmp_path, *steps, columns=width)
    first.fixture.write("project/a.txt", "one\r\ntwo\t日本\r\nthree\r\n")
    tapes = [await _played(first, "go", strategy, expanded=expanded)]
    (file,) = first.fixture.agent_dir.rglob("*.jsonl")
    again = AppFixture(
        tmp_path, columns=width, open_log=lambda location: open_session(file, location)
    )
    return [*tapes, await _played(again, "", expanded=expanded)]


async def _played(
    app_fixture: AppFixture, prompt: str, strategy: str = "", *, expanded: bool
) -> list[str]:
    async with app_fixture.running():
        if prompt:
            app_fixture.send(prompt)
            await app_fixture.rests()
        if strategy:
            assert app_fixture.session is not None
            await app_fixture.session.compaction.compact(strategy=strategy)
            await app_fixture.quiet()
        if expanded:
            app_fixture.type("\x0f")
            await app_fixture.quiet()
        rows = [row.rstrip() for row in app_fixture.terminal.tape]
        return rows[rows.index("▌ go") :]


@pytest.mark.parametrize("width", sampled([40, 80], keep=1))
@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_looks_the_same_after_resuming(
    tmp_path: Path, name: str, width: int
) -> None:
    came, resumed = await conversation(tmp_path, width, ANSWERS[name], expanded=False)

    assert len(came) > 8
    assert resumed == [row.replace("Thought for 1 s", "Thought") for row in came]


@pytest.mark.parametrize("expanded", [False, True])
async def test_tool_calls_look_the_same_after_resuming(tmp_path: Path, *, expanded: bool) -> None:
    came, resumed = await conversation(tmp_path, 80, TOOLS, says("Done."), expanded=expanded)

    assert len(came) > 40
    assert resumed == came


async def test_large_results_removed_by_compaction_are_shown_above_the_divider(
    tmp_path: Path,
) -> None:
    wide = "output " * 20
    large = [call("bash", command=f"yes '{n} {wide}' | head -n 330") for n in range(6)]
    full = Reply(blocks=(Text(text="Done."),), usage=Usage(input=80_000, output=5))
    came, resumed = await conversation(
        tmp_path, 80, Reply(blocks=tuple(large)), full, expanded=False, strategy="shake"
    )

    divider = max(at for at, row in enumerate(resumed) if "Compacted from" in row)
    assert "0 output" in "".join(resumed[:divider])
    assert resumed == came
