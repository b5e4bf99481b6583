from __future__ import annotations

import pytest

from pi.coding.packages.programs import not_from_an_index, require_index_name, requirement_name
from pi.coding.packages.source import InstallFailed

NAMED = [
    "one",
    "one.two_three-4",
    "one>=1",
    "one == 1.0.*, != 1.0.3",
    "one (>=1,<2)",
    "one[a, b] ~= 1.0+local",
    "one===1!2.0",
    "one; python_version >= '3.11' and (sys_platform == \"linux\" or extra == 'x')",
    " one [a]>1 ; os_name!='nt'",
]
REFUSED = [
    "",
    "-r x",
    "--index-url=x",
    ".",
    "./one",
    "../one",
    "/one",
    "C:\\one",
    "one/two",
    "one @ x",
    "one@x",
    "file:one",
    "git+ssh://h.dev/one",
    "one==1 two",
    "one\ntwo",
    "one; x @ file:///y",
    "one>=1 --hash=sha256:ab",
    "ö",
    "a" * 2000,
    "a" + " " * 990 + "@",  # took minutes: each run of spaces was tried in every split
]


@pytest.mark.parametrize("text", NAMED)
def test_names_with_versions_are_accepted(text: str) -> None:
    assert require_index_name(text, "tips") == text
    assert requirement_name(text).startswith("one")


@pytest.mark.parametrize("text", REFUSED)
def test_other_requirements_are_rejected(text: str) -> None:
    with pytest.raises(InstallFailed) as caught:
        require_index_name(text, "tips")

    assert caught.value.message.startswith('tips requires "')
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("value", [3, None, ["one"], {"one": "1"}])
def test_a_requirement_that_is_not_text_is_rejected(value: object) -> None:
    with pytest.raises(InstallFailed, match="is not text"):
        require_index_name(value, "tips")


def test_a_refusal_is_one_line_without_a_password() -> None:
    error = not_from_an_index("x @ https://me:secret@h.dev/\x1b[2Jx\n", "tips\n")

    assert error.message == (
        'tips requires "x @ https://h.dev/x", which is not a name and version of a package index;'
        " nothing was installed."
    )
