from __future__ import annotations

import pytest

from pi.coding.session.entries import Bookmark, Entry, Label, ModelChange, SessionInfo
from pi.coding.session.log import Annotations


def read(*entries: Entry) -> Annotations:
    annotations = Annotations()
    for entry in entries:
        annotations.read(entry)
    return annotations


def test_the_last_label_of_an_entry_is_used() -> None:
    annotations = read(
        Label(target_id="x", label="one", timestamp="1"),
        Label(target_id="y", label="two", timestamp="2"),
        Label(target_id="z", label="three", timestamp="3"),
        Label(target_id="x", label="four", timestamp="4"),
        Label(target_id="y"),
        Label(target_id="z", label=" "),
    )

    assert annotations.labels == {"x": Bookmark(label="four", timestamp="4")}


@pytest.mark.behaviour("session-names-are-clean")
def test_the_last_name_is_used_and_shown_on_one_line() -> None:
    named = read(
        SessionInfo(name="first"),
        SessionInfo(name=" a\r\nb\x1b[31m "),
        ModelChange(provider="p", model_id="m"),
    )

    assert named.name == "a b"
    assert read(SessionInfo(name="first"), SessionInfo()).name is None
    assert read(SessionInfo(name="first"), SessionInfo(name="\n")).name is None
