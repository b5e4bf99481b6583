"""Vim keys on the editor. ``|`` marks the cursor."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.editor import Editor

ESCAPE, CTRL_R, ENTER = "\x1b", "\x12", "\r"


def editing(text: str, *, keymap: Keymap | None = None) -> Editor:
    """An editor in normal mode, with the cursor on the character after ``|``."""
    editor = Editor(keymap=keymap)
    editor.set_vim(enabled=True)
    before, _, behind = text.partition("|")
    editor.set_text(before + behind)
    editor.handle_input(ESCAPE)
    row, col = before.count("\n"), len(before.rpartition("\n")[2])
    press(editor, f"{row + 1}gg0" + (f"{col}l" if col else ""))
    return editor


def press(editor: Editor, keys: str) -> None:
    for key in keys:
        editor.handle_input(key)


def shown(editor: Editor) -> str:
    """The text with the cursor."""
    row, col = editor._document.buffer.cursor
    lines = editor.get_text().split("\n")
    lines[row] = f"{lines[row][:col]}|{lines[row][col:]}"
    return "\n".join(lines)


CASES = [
    # motions
    ("|one two three", "w", "one |two three"),
    ("|one two three", "2w", "one two |three"),
    ("|foo.bar baz", "w", "foo|.bar baz"),
    ("|foo.bar baz", "W", "foo.bar |baz"),
    ("|one\n\ntwo", "w", "one\n|\ntwo"),
    ("|one\n\ntwo", "ww", "one\n\n|two"),
    ("one two |three", "b", "one |two three"),
    ("one two th|ree", "2b", "one |two three"),
    ("foo.bar b|az", "B", "foo.bar |baz"),
    ("foo.bar |baz", "B", "|foo.bar baz"),
    ("|one two", "e", "on|e two"),
    ("on|e two", "e", "one tw|o"),
    ("|one two three", "2e", "one tw|o three"),
    ("|foo.bar baz", "E", "foo.ba|r baz"),
    ("|a,b,c", "f,", "a|,b,c"),
    ("|a,b,c", "2f,", "a,b|,c"),
    ("|a,b,c", "t,", "|a,b,c"),
    ("|abc,d", "t,", "ab|c,d"),
    ("a,b,|c", "F,", "a,b|,c"),
    ("a,b,cd|e", "T,", "a,b,|cde"),
    ("|a,b,c,d", "f,;", "a,b|,c,d"),
    ("|a,b,c,d", "f,;,", "a|,b,c,d"),
    ("|abc", "fz", "|abc"),
    ("|f(a(b)c)", "%", "f(a(b)c|)"),
    ("f(a(b)c|)", "%", "f|(a(b)c)"),
    ("|x [\n1\n]", "%", "x [\n1\n|]"),
    ("one\ntwo\nth|ree", "gg", "|one\ntwo\nthree"),
    ("|one\ntwo\n  three", "G", "one\ntwo\n  |three"),
    ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
    ("one\ntwo\n|three", "2gg", "one\n|two\nthree"),
    ("  one tw|o", "0", "|  one two"),
    ("  one tw|o", "^", "  |one two"),
    ("o|ne two", "$", "one tw|o"),
    ("|one\ntwo", "j", "one\n|two"),
    ("one\nt|wo", "k", "o|ne\ntwo"),
    ("lo|ng\nx\nlong", "jj", "long\nx\nlo|ng"),
    ("|abcdef", "3l", "abc|def"),
    ("abcde|f", "3h", "ab|cdef"),
    ("|abc", "99l", "ab|c"),
    # delete
    ("|one two", "dw", "|two"),
    ("one |two", "dw", "one| "),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("|one two three", "2dw", "|three"),
    ("|one two three", "d2w", "|three"),
    ("|a b c d e f g", "2d2w", "|e f g"),
    ("|one two", "de", "| two"),
    ("one two t|hree", "db", "one two |hree"),
    ("one t|wo three", "d$", "one |t"),
    ("one t|wo three", "D", "one |t"),
    ("one t|wo", "d0", "|wo"),
    ("  one t|wo", "d^", "  |wo"),
    ("|a,b,c", "df,", "|b,c"),
    ("|ab,c", "dt,", "|,c"),
    ("a,b|c", "dF,", "a|c"),
    ("|f(a b)c", "d%", "|c"),
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\nt|wo\nthree\nfour", "2dd", "one\n|four"),
    ("one\nt|wo", "dd", "|one"),
    ("on|e", "dd", "|"),
    ("o|ne\ntwo\nthree", "dj", "|three"),
    ("one\ntwo\nth|ree", "dk", "|one"),
    ("one\nt|wo\nthree", "dG", "|one"),
    ("|one\ntwo", "dk", "|one\ntwo"),
    ("|a,b,c", "f,d;", "a|c"),
    ("one\n|two", "db", "|two"),
    ("one\nt|wo\nthree", "dgg", "|three"),
    ("ab|cd", "x", "ab|d"),
    ("abc|d", "x", "ab|c"),
    ("a|bcd", "2x", "a|d"),
    ("abc|d", "X", "ab|d"),
    # change
    ("|one two", "cwsix" + ESCAPE, "si|x two"),
    ("o|ne two", "cwX" + ESCAPE, "o|X two"),
    ("|a two", "cwX" + ESCAPE, "|X two"),
    ("one|  two", "cwX" + ESCAPE, "one|Xtwo"),
    ("one t|wo", "CX" + ESCAPE, "one t|X"),
    ("one\nt|wo\nthree", "ccX" + ESCAPE, "one\n|X\nthree"),
    ("one\nt|wo", "SX" + ESCAPE, "one\n|X"),
    ("a|bc", "sX" + ESCAPE, "a|Xc"),
    ("a|bc", "rX", "a|Xc"),
    ("a|bcd", "2rX", "aX|Xd"),
    ("a|bC", "2~", "aB|c"),
    # text objects
    ("one t|wo three", "diw", "one | three"),
    ("one t|wo three", "daw", "one |three"),
    ("one t|wo", "daw", "on|e"),
    ("one| two", "diw", "one|two"),
    ("a foo.b|ar c", "diW", "a | c"),
    ('say "he|llo you" now', 'ci"hi' + ESCAPE, 'say "h|i" now'),
    ('|say "hello" now', 'di"', 'say "|" now'),
    ('say "he|llo" now', 'da"', "say |now"),
    ("say 'he|llo'", "di'", "say '|'"),
    ("f(a, |b)", "di(", "f(|)"),
    ("f(a, |b)", "da(", "|f"),
    ("f(a, (b|) c)", "di(", "f(a, (|) c)"),
    ("f(a, |b)", "dib", "f(|)"),
    ("x[a|b]", "di]", "x[|]"),
    ("x{\n|b\n}", "di{", "x{\n|}"),
    ("f(a,\n|b)", "di(", "f(|)"),
    ("<a|b>", "da<", "|"),
    ("one\nt|wo\n\nthree", "dip", "|\nthree"),
    ("one\nt|wo\n\nthree", "dap", "|three"),
    ("one\n\nthr|ee", "dap", "|one"),
    # yank and put
    ("|one two", "ywP", "one| one two"),
    ("|one two", "yiwp", "oon|ene two"),
    ("o|ne\ntwo", "yyp", "one\n|one\ntwo"),
    ("one\nt|wo", "yyP", "one\n|two\ntwo"),
    ("|one\ntwo", "yyGp", "one\ntwo\n|one"),
    ("|one\ntwo\nthree", "2yyGp", "one\ntwo\nthree\n|one\ntwo"),
    ("|ab", "xp", "b|a"),
    ("|ab", "x3p", "baa|a"),
    ("|one\ntwo", "ddp", "two\n|one"),
    # insert
    ("|one", "iX" + ESCAPE, "|Xone"),
    ("|one", "aX" + ESCAPE, "o|Xne"),
    ("  o|ne", "IX" + ESCAPE, "  |Xone"),
    ("o|ne", "AX" + ESCAPE, "one|X"),
    ("o|ne\ntwo", "oX" + ESCAPE, "one\n|X\ntwo"),
    ("one\nt|wo", "OX" + ESCAPE, "one\n|X\ntwo"),
    ("o|ne\n  two", "J", "one| two"),
    # undo and repeat
    ("|one two", "dwu", "|one two"),
    ("|one two", "cwa b c" + ESCAPE + "u", "|one two"),
    ("|one two", "dwu" + CTRL_R, "|two"),
    ("|one two three", "dw.", "|three"),
    ("|a b c", "cwX" + ESCAPE + "w.w.", "X X |X"),
    ("|ab", "x.", "|"),
    ("one\n|two\nthree\nfour", "dd.", "one\n|four"),
    ('|a "x" b "y"', 'ci"z' + ESCAPE + '2f".', 'a "z" b "|z"'),
    ("|one", "Ax" + ESCAPE + ".", "onex|x"),
    ("|one two three four", "dw2.", "|four"),
    # visual
    ("o|ne two", "vld", "o| two"),
    ("o|ne two", "vey$p", "one twon|e"),
    ("|one two", "vecX" + ESCAPE, "|X two"),
    ("one\nt|wo\nthree", "Vd", "one\n|three"),
    ("o|ne\ntwo\nthree", "Vjd", "|three"),
    ("|one two", "viwd", "| two"),
    ("f(a |b)", "vi(d", "f(|)"),
    ("a|bcd", "vl~", "a|BCd"),
    ("a|bcd", "vlrx", "a|xxd"),
    ("abc|d", "vhox", "a|b"),
    ("|one two", "yiwwviwp", "one on|e"),
    # a command that is cancelled
    ("|one two", "d" + ESCAPE + "w", "one |two"),
    ("|one two", "dz", "|one two"),
    ("|one two", "3" + ESCAPE + "l", "o|ne two"),
]
"""Text, keys, and the resulting text; a later test compares the results with vim itself."""


@pytest.mark.parametrize(("before", "keys", "behind"), CASES)
def test_keys_of_normal_and_visual_mode_edit_the_text(before: str, keys: str, behind: str) -> None:
    editor = editing(before)
    press(editor, keys)
    assert shown(editor) == behind


def test_the_editor_starts_in_insert_mode_and_shows_its_mode() -> None:
    editor = Editor()
    editor.set_vim(enabled=True)
    press(editor, "hjkl")
    assert (editor.get_text(), editor.render(40)[-1][:12]) == ("hjkl", "── INSERT ──")
    for keys, label in (
        (ESCAPE, "NORMAL"),
        ("2d", "NORMAL 2d"),
        (ESCAPE, "NORMAL"),
        ("v", "VISUAL"),
    ):
        press(editor, keys)
        assert editor.render(40)[-1].startswith(f"── {label} ─")


def test_enter_submits_in_every_mode_and_the_next_prompt_begins_in_insert_mode() -> None:
    editor = Editor()
    editor.set_vim(enabled=True)
    sent: list[str] = []
    editor.on_submit = sent.append
    press(editor, "one" + ENTER + "two" + ESCAPE + ENTER + "three" + ENTER)
    assert sent == ["one", "two", "three"]


def test_k_on_the_first_line_shows_the_previous_prompt() -> None:
    editor = Editor()
    editor.set_vim(enabled=True)
    editor.add_to_history("earlier")
    press(editor, "now" + ESCAPE + "k")
    assert editor.get_text() == "earlier"
    press(editor, "j")
    assert editor.get_text() == "now"


def test_a_paste_marker_is_one_character_for_vim() -> None:
    editor = Editor()
    editor.set_vim(enabled=True)
    press(editor, "a ")
    editor.handle_input("\x1b[200~" + "x\n" * 20 + "\x1b[201~")
    press(editor, " b" + ESCAPE + "0wx")
    assert editor.get_text() == "a  b"


def test_every_key_can_be_bound_to_another_one() -> None:
    keymap = Keymap({"tui.vim.delete": ("q",), "tui.vim.wordForward": ("z",)})
    editor = editing("|one two", keymap=keymap)
    press(editor, "d")
    press(editor, "qz")
    assert shown(editor) == "|two"


def test_selected_text_is_drawn_in_reverse() -> None:
    editor = editing("|one two")
    editor.focused = True
    press(editor, "ve")
    assert "\x1b[7mo\x1b[27m\x1b[7mn\x1b[27m" in editor.render(40)[1]


def test_disabling_vim_mode_restores_the_usual_keys() -> None:
    editor = editing("|one")
    editor.set_vim(enabled=False)
    press(editor, "dd")
    assert editor.get_text() == "ddone"


def test_text_that_was_typed_without_a_command_is_not_repeated() -> None:
    editor = Editor()
    editor.set_vim(enabled=True)
    press(editor, "hi dd" + ESCAPE + ".")
    assert editor.get_text() == "hi dd"


@pytest.mark.skipif(shutil.which("vim") is None, reason="no vim here; not tested: the same keys")
def test_vim_itself_returns_the_same_results(tmp_path: Path) -> None:
    written = tmp_path / "written"
    lines = ["set nocompatible encoding=utf-8 startofline"]
    for before, keys, _ in CASES:
        head = before.partition("|")[0]
        row, col = head.count("\n") + 1, len(head.rpartition("\n")[2]) + 1
        typed = "".join(f"\\x{ord(key):02x}" for key in keys)
        lines += [
            "enew! | set undolevels=-1",  # the text itself cannot be undone
            f"call setline(1, {json.dumps(before.replace('|', '').split(chr(10)))})",
            f"set undolevels=1000 | call cursor({row}, {col})",
            f'exe "normal! {typed}"',
            "let shown = [getline(1, '$'), line('.') - 1, col('.') - 1]",
            f"call writefile([json_encode(shown)], {json.dumps(str(written))}, 'a')",
        ]
    script = tmp_path / "script.vim"
    script.write_text("\n".join([*lines, "qa!", ""]))
    command = ["vim", "-u", "NONE", "-i", "NONE", "-N", "-es", "-S", str(script)]
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False)

    shown = [json.loads(line) for line in written.read_text().splitlines()]
    assert len(shown) == len(CASES)
    for (before, keys, behind), (text, row, col) in zip(CASES, shown, strict=True):
        text[row] = f"{text[row][:col]}|{text[row][col:]}"
        assert (before, keys, "\n".join(text)) == (before, keys, behind)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["\x1bd", "d"], "|"),
        (["\x1bb"], "one |two"),
        (["\x1b0", "i", "x"], "x|one two"),
        (["\x1bO", "x"], "x|\none two"),
    ],
)
def test_escape_and_a_key_in_one_read_leave_insert_mode(keys: list[str], expected: str) -> None:
    editor = editing("one tw|o")
    press(editor, "A")

    for key in keys:
        editor.handle_input(key)

    assert shown(editor) == expected


def test_escape_and_a_key_in_one_read_cancel_a_command() -> None:
    editor = editing("|one two")

    for key in ("d", "\x1bw"):
        editor.handle_input(key)

    assert shown(editor) == "one |two"


@pytest.mark.parametrize("key", ["\x1bl", "\x1b[100;3u", "\x1b\r"])
def test_alt_keys_that_are_bound_or_unambiguous_do_not_leave_insert_mode(key: str) -> None:
    editor = editing("|one two")
    press(editor, "i")

    editor.handle_input(key)
    editor.handle_input("x")

    assert "x" in editor.get_text()  # still in insert mode


def test_without_vim_mode_escape_and_a_key_in_one_read_are_alt() -> None:
    editor = Editor()
    editor.set_text("one two")

    for key in ("\x1bb", "x"):
        editor.handle_input(key)

    assert editor.get_text() == "one xtwo"
