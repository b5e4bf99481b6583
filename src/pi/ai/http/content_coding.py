"""Decompresses bodies that arrive in chunks. Pure."""

from __future__ import annotations

import zlib

_STEP = 1 << 20
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15  # window sizes, by which zlib selects the format


class Inflater:
    """Decompresses gzip or deflate in bounded steps, so that a small body cannot fill the memory.

    Call ``feed`` with input, ``take`` until it returns nothing, and check ``finished`` at the end.
    Raises ``ValueError`` for invalid data.
    """

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._decoder: zlib._Decompress | None = None
        self._input = b""
        self._more_inside = False

    def feed(self, data: bytes) -> None:
        """Add compressed bytes."""
        self._input += data

    def take(self) -> bytes:
        """Returns the next plain bytes, none if more input is needed."""
        while self._input or self._more_inside:
            decoder = self._decoder
            if decoder is None or decoder.eof:  # a gzip body may consist of several members
                if (decoder := self._new_decoder()) is None:
                    return b""
                self._decoder = decoder
            try:
                plain = decoder.decompress(self._input, _STEP)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            self._input = decoder.unconsumed_tail or decoder.unused_data
            self._more_inside = len(plain) == _STEP and not decoder.eof
            if plain:
                return plain
        return b""

    @property
    def finished(self) -> bool:
        """Whether the body ended where its format says; an empty body did."""
        return not self._input and (self._decoder is None or self._decoder.eof)

    def _new_decoder(self) -> zlib._Decompress | None:
        if self._window is None:
            if len(self._input) < 2:
                return None
            self._window = _deflate_window(self._input)
        return zlib.decompressobj(self._window)


def inflater_for(coding: str) -> Inflater:
    """Returns the decoder of a content coding; raises ``ValueError`` for an unsupported one."""
    match coding:
        case "gzip" | "x-gzip":
            return Inflater(_GZIP)
        case "deflate":
            return Inflater(None)
        case unknown:
            raise ValueError(f"the content coding {unknown!r} is unknown")


def _deflate_window(start: bytes) -> int:
    """Distinguishes zlib data from the raw deflate data that some servers send under the
    same name."""
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
    return _ZLIB if is_zlib else _RAW_DEFLATE
