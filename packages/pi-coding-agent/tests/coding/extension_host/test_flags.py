from __future__ import annotations

import pytest

from pi.coding.extension_host.contributions.flags import (
    ExtensionFlag,
    FollowingWord,
    check_flag,
    flag_value,
)
from pi.coding.extension_host.errors import ExtensionError


@pytest.mark.behaviour("bad-registrations-are-refused")
@pytest.mark.parametrize(
    "flag",
    [
        ExtensionFlag(name="x", kind="boolean", default="yes"),
        ExtensionFlag(name="x", kind="string", default=True),
        ExtensionFlag(name="x", kind="number"),  # type: ignore[arg-type]
    ],
)
def test_a_default_of_the_wrong_type_is_refused(flag: ExtensionFlag) -> None:
    with pytest.raises(ExtensionError):
        check_flag(flag)


def test_a_flag_of_the_command_line_overrides_the_default() -> None:
    switch = check_flag(ExtensionFlag(name="fast", kind="boolean", default=False))
    text = check_flag(ExtensionFlag(name="who", kind="string", default="me"))

    assert [flag_value(switch, {}), flag_value(text, {})] == [False, "me"]
    assert [flag_value(switch, {"fast": True}), flag_value(switch, {"fast": "no"})] == [True, False]
    assert [flag_value(text, {"who": "you"}), flag_value(text, {"who": True})] == ["you", None]


def test_a_following_word_is_the_value_of_a_string_flag_only() -> None:
    switch = ExtensionFlag(name="x", kind="boolean")
    text = ExtensionFlag(name="x", kind="string")
    flags = {"x": FollowingWord("no")}

    assert (flag_value(switch, flags), flag_value(text, flags)) == (True, "no")
