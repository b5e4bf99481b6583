"""The vault: placeholders, patterns, shapes, and restoring values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.batteries.secrets.answers import RestoreRules, restored_arguments
from pi.batteries.secrets.sources import Entry, compiled, from_environment, merged, parse_file
from pi.batteries.secrets.vault import PLACEHOLDER, Vault
from pi.coding.export.redaction import Redactor
from pi.extension import BadResource

re2 = pytest.importorskip("re2")
KEY = b"k" * 32
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghijklmnop0123\nqrstuvwxyzABCDEFGHIJ45\n"
    "-----END RSA PRIVATE KEY-----\n"
)


def vault(*values: str | Entry, engine: Any = re2, shapes: bool = True) -> Vault:
    made = Vault(KEY, shapes=shapes, re2=engine)
    made.update(v if isinstance(v, Entry) else Entry(content=v) for v in values)
    return made


@pytest.mark.parametrize("engine", [re2, None])
def test_a_masked_value_is_restored_byte_for_byte(engine: Any) -> None:
    hidden = vault("hunter2-hunter2", 'quo"ted\\secret', engine=engine)
    text = 'a hunter2-hunter2 and quo"ted\\secret, in JSON "quo\\"ted\\\\secret" ü'

    masked = hidden.mask(text)

    assert "hunter2" not in masked and "secret" not in masked
    assert len(PLACEHOLDER.findall(masked)) == 3
    assert hidden.restore(masked) == text


def test_placeholders_are_stable_when_secrets_are_added() -> None:
    before = vault("first-secret-1").mask("first-secret-1")
    after = vault("another-secret-0", "first-secret-1").mask("first-secret-1")

    assert before == after
    assert Vault(b"other" * 8).mask("first-secret-1") != before


@pytest.mark.parametrize("engine", [re2, None])
def test_the_longest_value_wins(engine: Any) -> None:
    hidden = vault("token-12345", "token-12345-long", engine=engine)

    masked = hidden.mask("token-12345-long token-12345")

    assert PLACEHOLDER.sub("P", masked) == "P P"
    assert hidden.restore(masked) == "token-12345-long token-12345"


def test_only_issued_placeholders_are_restored() -> None:
    issued = vault("first-secret-1").mask("first-secret-1")
    fresh = vault("first-secret-1")

    assert fresh.restore(issued) == issued
    fresh.redact("first-secret-1")
    assert fresh.restore(issued) == issued
    fresh.mask("first-secret-1")
    assert fresh.restore(issued) == "first-secret-1"


@pytest.mark.parametrize("engine", [re2, None])
def test_lines_of_a_private_key_are_hidden_wherever_they_are_cut(engine: Any) -> None:
    hidden = vault(PEM, engine=engine)
    numbered = "".join(f"{n}\t  {line}\n" for n, line in enumerate(PEM.splitlines(), 1))

    for text in (PEM, PEM.replace("\n", "\\n"), numbered, numbered[:90], PEM[:60]):
        assert "MIIEabcd" not in hidden.mask(text)
        assert "qrstuvwx" not in hidden.mask(text)
        assert hidden.restore(hidden.mask(text)) == text


@pytest.mark.parametrize("engine", [re2, None])
@pytest.mark.parametrize("before", ["\\n", "\\t", "\\u000a", "\\x0a", "%3D", "\x1b[31m", "x="])
def test_a_key_after_an_escape_sequence_is_masked(engine: Any, before: str) -> None:
    hidden = vault(engine=engine)
    text = f"{before}ghp_{'a1' * 18} task-management-of-many-things"

    masked = hidden.mask(text)

    assert masked.startswith(f"{before}<<$env:S")
    assert masked.endswith(" task-management-of-many-things")
    assert hidden.restore(masked) == text
    assert Redactor().text(text) == f"{before}[redacted] task-management-of-many-things"


def test_replaced_values_are_not_restored() -> None:
    hidden = vault(
        Entry(content="postgres-password", mode="replace"),
        Entry(content="other-password", mode="replace", replacement="********"),
    )

    masked = hidden.mask("postgres-password other-password")

    assert "password" not in masked
    assert masked.endswith(" ********")
    assert len(masked.split()[0]) == len("postgres-password")
    assert hidden.restore(masked) == masked
    assert hidden.mask("postgres-password other-password") == masked


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Entry(content="AKIA[0-9A-Z]{16}", is_pattern=True), "AKIAABCDEFGHIJKLMNOP"),
        (Entry(content=r"api[_-]?key\s*=\s*\w+", is_pattern=True, flags="i"), "API_KEY = abc"),
        (Entry(content=r"/bearer\s+[a-zA-Z0-9._~+\/=-]+/i", is_pattern=True), "Bearer a/b=c"),
        (Entry(content=r"(?<name>id-\d+)", is_pattern=True, flags="g"), "id-42"),
    ],
)
def test_patterns_use_javascript_syntax_also_as_literals(entry: Entry, text: str) -> None:
    hidden = vault(entry, shapes=False)

    masked = hidden.mask(f"x {text} y {text}")

    assert PLACEHOLDER.sub("P", masked) == "x P y P"
    assert hidden.restore(masked) == f"x {text} y {text}"


def test_the_key_of_the_placeholders_is_masked() -> None:
    assert KEY.hex() not in vault().mask(f'{{"key": "{KEY.hex()}"}}')


@pytest.mark.behaviour("credential-shapes-are-detected")
def test_the_environment_is_searched_by_name_and_by_value() -> None:
    environ = {
        "MY_API_KEY": "abcdefgh12",
        "SHORT_TOKEN": "abc",
        "HARMLESS": "ghp_" + "a1" * 18,
        "DATABASE": "postgres://me:p%40ssw0rd-long@host/db",
        "PWD": "/home/me/project",
        "EDITOR": "/usr/bin/editor",
    }

    found = {entry.content for entry in from_environment(environ)}

    expected = {"abcdefgh12", "ghp_" + "a1" * 18, "p%40ssw0rd-long", "p@ssw0rd-long"}
    assert found == expected


def test_files_override_the_environment_and_the_project_overrides_the_user() -> None:
    one = Entry(content="same-value")
    two, three = (
        Entry(content="same-value", mode="replace", source=source) for source in ("user", "project")
    )

    assert merged([one], [two], []) == (two,)
    assert merged([one], [two], [three]) == (three,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- type: plain", "Entry 1: content must be a text"),
        ("- type: words\n  content: x", 'Entry 1: type must be "plain" or "regex"'),
        ("- type: regex\n  content: '('", "Entry 1: the regular expression is invalid"),
        ("- type: regex\n  content: x\n  flags: q", 'Entry 1: unknown flag "q"'),
        ("a: b", "It must be a list"),
    ],
)
def test_a_broken_file_names_the_place(text: str, problem: str) -> None:
    with pytest.raises(BadResource, match=r".") as raised:
        parse_file(text, Path("secrets.yml"))

    assert raised.value.message.startswith(problem)


def test_arguments_are_restored_unless_they_are_sent_to_other_machines() -> None:
    hidden = vault("first-secret-1")
    mark = hidden.mask("first-secret-1")
    rules, open_rules = RestoreRules(), RestoreRules(into=("web_search", "urls", "mcp__git__*"))

    def run(name: str, value: Any, rules: RestoreRules = rules) -> Any:
        return restored_arguments(name, value, hidden, rules)

    assert run("bash", {"a": [mark, {"b": f"x{mark}y"}], "n": 1}) == {
        "a": ["first-secret-1", {"b": "xfirst-secret-1y"}],
        "n": 1,
    }
    assert run("web_search", {"query": mark}) == {"query": mark}
    assert run("mcp__git__push", {"x": mark}) == {"x": mark}
    assert run("read", {"path": f"https://evil.example/{mark}"}) == {
        "path": f"https://evil.example/{mark}"
    }
    assert run("read", {"path": f"file:///{mark}"}) == {"path": "file:///first-secret-1"}
    assert run("web_search", {"query": mark}, open_rules) == {"query": "first-secret-1"}
    assert run("mcp__git__push", {"x": mark}, open_rules) == {"x": "first-secret-1"}
    assert run("mcp__other__push", {"x": mark}, open_rules) == {"x": mark}
    assert "first" in run("read", {"path": f"https://a.example/{mark}"}, open_rules)["path"]


def test_a_pattern_with_a_slash_is_compiled_unchanged() -> None:
    assert compiled(Entry(content="a/b", is_pattern=True)).pattern == "a/b"
