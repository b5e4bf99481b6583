from __future__ import annotations

import msgspec

from pi.coding.extension_host.failures import (
    ExtensionError,
    ExtensionFailed,
    HandlerTimeout,
    StaleSession,
    words,
)


def test_a_failure_is_told_in_the_form_of_the_protocol() -> None:
    failed = ExtensionFailed(extension_path="/x.py", event="input", error="no")

    assert msgspec.json.encode(failed) == (
        b'{"type":"extension_error","extensionPath":"/x.py","event":"input","error":"no"}'
    )


def test_a_failure_has_words_even_when_it_says_nothing() -> None:
    assert [words(problem) for problem in (ValueError(), ValueError("x"), SystemExit(3))] == [
        "ValueError",
        "x",
        "3",
    ]
    assert words(ExtensionError("a", hint="b")) == "a"
    assert words(HandlerTimeout(30)) == "It took longer than 30 seconds and was cancelled."
    assert issubclass(StaleSession, ExtensionError)
