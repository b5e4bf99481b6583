from pi.base.errors import PiError


def test_an_error_is_explained_in_one_line_with_its_hint() -> None:
    assert PiError("No file.").explain() == "No file."
    assert PiError("No file.", hint="Make one.").explain() == "No file. Make one."
    assert str(PiError("No file.", hint="Make one.")) == "No file."


def test_the_hint_of_an_error_is_a_separate_sentence() -> None:
    assert PiError("File not found: /a.jsonl", hint="Make one.").explain() == (
        "File not found: /a.jsonl. Make one."
    )
    assert PiError("Which one?", hint="Say it.").explain() == "Which one? Say it."
    assert PiError("File not found: /a.jsonl").explain() == "File not found: /a.jsonl"
