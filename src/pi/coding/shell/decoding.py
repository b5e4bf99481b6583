"""Bytes of a command as text, although characters arrive cut in two and encodings are mixed."""

from __future__ import annotations

import codecs


class OutputDecoder:
    """Decodes UTF-8 as it comes; what is none becomes U+FFFD.

    With ``fallback``, the code page of the system, the first byte that is not UTF-8 says that the
    program does not know UTF-8, and everything from there on is decoded with that code page.
    """

    def __init__(self, fallback: str | None = None) -> None:
        self._fallback = fallback
        errors = "strict" if fallback else "replace"
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text that is complete by now."""
        held = self._decoder.getstate()[0]
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as problem:
            assert self._fallback is not None  # without one nothing is an error
            self._decoder = codecs.getincrementaldecoder(self._fallback)("replace")
            whole = held + data
            good = whole[: problem.start].decode("utf-8", "replace")
            return good + self._decoder.decode(whole[problem.start :], final)
