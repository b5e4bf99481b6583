from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.widgets.markdown.highlight import highlight, pieces
from pi.tui.widgets.markdown.nodes import CodeTheme

THEME = CodeTheme(
    comment=lambda text: f"#{text}#" if text else "",
    keyword=lambda text: f"*{text}*" if text else "",
    string=lambda text: f"~{text}~" if text else "",
    number=lambda text: f"={text}=" if text else "",
    inserted=lambda text: f"<{text}>" if text else "",
    deleted=lambda text: f"({text})" if text else "",
)


def test_code_is_coloured_line_by_line() -> None:
    assert highlight('if 1:\n    """a\n    b"""\n', "python", THEME) == [
        "*if* =1=:",
        '    ~"""a~',
        '~    b"""~',
    ]


@pytest.mark.behaviour("open-fence-does-not-flicker")
@pytest.mark.parametrize("language", ["", "no-such-language", "text"])
def test_code_of_an_unknown_language_is_not_coloured(language: str) -> None:
    assert highlight("if 1:\n\n  pass\n", language, THEME) == ["if 1:", "", "  pass"]


@pytest.mark.behaviour("open-fence-does-not-flicker")
@pytest.mark.parametrize("language", ["kt", "jsonc", "jsonl", "hpp", "h", "mjs", "Python"])
def test_common_language_aliases_are_recognised(language: str) -> None:
    assert highlight("1\n", language, THEME) == ["=1="]


@pytest.mark.parametrize("language", ["diff", "patch"])
def test_inserted_and_deleted_lines_of_a_patch_are_coloured(language: str) -> None:
    patch = "@@ -1 +1 @@\n-old\n+new\n same\n"

    assert highlight(patch, language, THEME) == ["#@@ -1 +1 @@#", "(-old)", "<+new>", " same"]


def test_the_output_of_a_lexer_that_changes_the_code_is_ignored() -> None:
    assert highlight("\ufeffif\n", "python", THEME) == ["\ufeffif"]


def test_empty_code_has_no_lines() -> None:
    assert highlight("", "python", THEME) == []
    assert highlight("\n\n", "python", THEME) == ["", ""]


@pytest.mark.behaviour("markdown-streams-linearly")
def test_code_is_split_into_pieces_outside_of_open_constructs() -> None:
    function = "def f():\n" + "    pass\n" * 30 + "\n\n"
    docstring = 'x = """\n' + "text\n\n" * 20 + '"""\n\n'

    assert list(pieces(function * 3)) == [function] * 3
    assert list(pieces(docstring + "y\n")) == [docstring, "y\n"]
    assert [piece.count("\n") for piece in pieces("  1,\n" * 450)] == [200, 200, 50]


@given(st.lists(st.sampled_from(["def f():", "    pass", "", "/*", "*/", "x", '"""']), max_size=80))
def test_highlighting_never_changes_the_code(lines: list[str]) -> None:
    code = "".join(f"{line}\n" for line in lines)
    colours = CodeTheme(keyword=lambda text: f"\x1b[1m{text}\x1b[22m")

    assert "".join(pieces(code)) == code
    assert [strip_sequences(line) for line in highlight(code, "python", colours)] == lines


def test_pygments_is_not_imported_for_text_without_code() -> None:
    program = (
        "import sys, pi.tui.widgets.markdown.widget as w; w.Markdown('x').render(9);"
        "sys.exit('pygments' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
