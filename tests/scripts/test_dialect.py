from __future__ import annotations

from pathlib import Path

import pytest

from scripts import dialect
from scripts.dialect import NAMES, PHRASES, SOURCE_NAMES, WORDS, find


def found(text: str, *, is_python: bool = False) -> list[str]:
    return [match.word for match in find(text, is_python=is_python)]


@pytest.mark.parametrize("word", sorted(WORDS))
def test_a_word_is_found_in_prose_and_in_identifiers(word: str) -> None:
    assert found(f"If {word} asks.") == [word]
    assert found(f"_{word} find_{word}_first {word.upper()} Find{word.capitalize()}") == [word] * 4
    assert found(f"un{word} {word}x") == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_found_across_lines_and_with_underscores(phrase: str) -> None:
    first, second = phrase.split()

    assert found(f"It {phrase}.") == [phrase]
    assert found(f"# It {first}\n    # {second}.") == [phrase]
    assert found(f"{first}_{second} = 1") == [phrase]
    assert found(f"{first} {second}al") == []


@pytest.mark.parametrize("name", sorted(NAMES | SOURCE_NAMES))
def test_an_ordinary_word_is_found_only_as_a_name(name: str) -> None:
    assert found(f"{name.capitalize()} is what a sentence can begin with; {name} too.") == []
    assert found(f"`{name.capitalize()}` has_{name} Make{name.capitalize()}") == [name] * 3
    assert found(f"{name} = 1  # {name}\nx = '{name}'", is_python=True) == [name]


def test_allowed_phrases_of_plain_english_are_not_reported() -> None:
    assert found("They tell the two apart; they are told apart. Hello, World!") == []
    assert found("They tell the model. Apart from that") == ["tell"]


def test_a_match_has_its_line_and_columns() -> None:
    (match,) = find("one\ntwo told_three")

    assert (match.line, match.start, match.end) == (2, 8, 12)


def test_names_of_tests_may_contain_words_forbidden_in_other_names(tmp_path: Path) -> None:
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("def test_the_user_is_asked() -> None: ...\n")

    assert list(dialect.find_in_checkout(tmp_path, "src")) == ["src/a.py"]
    assert dialect.find_in_checkout(tmp_path, "tests") == {}


def test_only_matches_inside_an_allowed_fragment_of_the_file_are_ignored(tmp_path: Path) -> None:
    for path in ("docs/a.md", "docs/b.md", "README.md", "scripts/dialect-allowed.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text('"told you", told\n')
    (tmp_path / "scripts/dialect-allowed.txt").write_text('# why\ndocs/a.md: "told you"\n')

    in_docs = dialect.find_in_checkout(tmp_path, "docs")

    assert {path: [match.start for match in matches] for path, matches in in_docs.items()} == {
        "README.md": [1, 12],
        "docs/a.md": [12],
        "docs/b.md": [1, 12],
    }


def test_an_allowed_line_without_a_fragment_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "allowed.txt").write_text("docs/a.md:\n")

    with pytest.raises(ValueError, match=r"allowed\.txt: 'docs/a\.md:' has not the form"):
        dialect.read_allowed(tmp_path / "allowed.txt")
