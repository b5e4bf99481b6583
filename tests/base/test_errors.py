from pi.base.errors import PiError


def test_an_error_explains_itself_in_one_line_with_what_to_do_next() -> None:
    assert PiError("No file.").explain() == "No file."
    assert PiError("No file.", hint="Make one.").explain() == "No file. Make one."
    assert str(PiError("No file.", hint="Make one.")) == "No file."


def test_what_to_do_next_is_a_sentence_of_its_own() -> None:
    assert PiError("File not found: /a.jsonl", hint="Make one.").explain() == (
        "File not found: /a.jsonl. Make one."
    )
    assert PiError("Which one?", hint="Say it.").explain() == "Which one? Say it."
    assert PiError("File not found: /a.jsonl").explain() == "File not found: /a.jsonl"
