from pi.base.errors import PiError


def test_an_error_explains_itself_in_one_line_with_what_to_do_next() -> None:
    assert PiError("No file.").explain() == "No file."
    assert PiError("No file.", hint="Make one.").explain() == "No file. Make one."
    assert str(PiError("No file.", hint="Make one.")) == "No file."
