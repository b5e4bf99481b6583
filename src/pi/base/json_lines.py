"""JSON Lines: one JSON value per line, as session files, RPC and JSON mode use it.

Lines end with LF and nothing else. CR, VT, FF, U+2028 and U+2029 are data.
"""

from __future__ import annotations

import msgspec

from pi.base.surrogates import replace_surrogate_escapes, replace_surrogates

_EXCERPT = 60


class BadLine(ValueError):
    """A line that is no JSON value: why, and how it begins.

    Who reads the lines knows which file or peer they come from, and tells the user.
    """

    def __init__(self, reason: str, line: bytes) -> None:
        self.reason = reason
        self.excerpt = line[:_EXCERPT].decode("utf-8", "replace")
        super().__init__(f"{reason}: {self.excerpt!r}")


class LineSplitter:
    """Cuts a stream of bytes, arriving in chunks of any size, into lines.

    ``limit`` is the largest number of bytes that a line may have. A longer one is reported as soon
    as it is too long, and the rest of it is dropped without being kept in memory.
    """

    def __init__(self, *, limit: int | None = None) -> None:
        self._limit = limit
        self._held = bytearray()
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes | BadLine]:
        """The lines that ``chunk`` completes, without LF, and a ``BadLine`` for each too long."""
        found: list[bytes | BadLine] = []
        *endings, beginning = chunk.split(b"\n")
        for ending in endings:
            self._hold(ending, found)
            if not self._dropping:
                found.append(self._release())
            self._dropping = False
        self._hold(beginning, found)
        return found

    def finish(self) -> bytes:
        """The bytes after the last LF, once no more come; empty if there are none."""
        self._dropping = False
        return self._release()

    def _hold(self, piece: bytes, found: list[bytes | BadLine]) -> None:
        if self._dropping:
            return
        self._held += piece
        if self._limit is not None and len(self._held) > self._limit:
            reason = f"The line is longer than {self._limit} bytes"
            found.append(BadLine(reason, self._release()[: self._limit]))
            self._dropping = True

    def _release(self) -> bytes:
        line = bytes(self._held)
        self._held.clear()
        return line


def encode_line(value: object) -> bytes:
    """``value`` as one line of JSON, with its LF.

    NaN and infinities become null, lone surrogates U+FFFD. Raises ``TypeError`` for a value that
    JSON cannot say.
    """
    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, enc_hook=_plain_raw)
        encoded = msgspec.json.encode(replace_surrogates(plain))
    # Only a msgspec.Raw can bring an LF along, and in JSON that is always blank space.
    return encoded.replace(b"\n", b" ") + b"\n"


def decode_line(line: bytes) -> object:
    """The JSON value of ``line``; raises ``BadLine`` if it holds none.

    An escaped lone surrogate, which JavaScript writes, is read as U+FFFD.
    """
    try:
        return _decode(line)
    except msgspec.DecodeError as problem:
        raise BadLine(f"The line is not valid JSON ({problem})", line) from problem
    except UnicodeDecodeError as problem:
        raise BadLine("The line is not valid UTF-8", line) from problem
    except RecursionError as problem:
        raise BadLine("The line is nested too deeply", line) from problem


def _decode(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        mended = replace_surrogate_escapes(line)
        if mended == line:
            raise
        return msgspec.json.decode(mended)


def _plain_raw(value: object) -> object:
    if isinstance(value, msgspec.Raw):  # JSON already, which only the encoder itself takes as it is
        return msgspec.json.decode(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
