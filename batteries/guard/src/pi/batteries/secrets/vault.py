"""The vault: replaces secrets in texts by placeholders, and placeholders by secrets.

A placeholder is a keyed hash of the value, not its number in a list: it stays the same when secrets
are added, so that the provider's cache and older messages stay valid. Only issued placeholders,
i.e. those that were sent to a model in place of a value, are restored.
"""

from __future__ import annotations

import hmac
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from pi.batteries.secrets.shapes import (
    PRIVATE_KEY,
    SHAPES,
    IsSecret,
    Shape,
    in_texts,
    secret_part,
    without_groups,
)
from pi.batteries.secrets.sources import SHORTEST, Entry, compiled, separate_values, written_forms
from pi.batteries.secrets.split_values import (
    Squeezed,
    blanked_margins,
    changed_lines,
    decode,
    may_be_split,
    squeeze,
    without_margins,
    without_overlaps,
)
from pi.extension import Record

OPENING = "<<$env:S"
CLOSING = ">>"
DIGITS = 12
PLACEHOLDER = re.compile(r"<<\$env:S[0-9a-f]{12,}>>")
LONGEST = len(OPENING) + 64 + len(CLOSING)
"""Characters of the longest possible placeholder."""
REDACTED = "[redacted]"
LONGEST_SPLIT = 4096
"""Maximal length of a value that is searched with something between its characters; longer ones
are found by their lines."""
BEGINNING = 4
"""Characters of a value that are in one piece before a margin."""
CACHED_CHARACTERS = 16_000_000
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Hidden(Record):
    """The replacement of one value."""

    text: str
    is_reversible: bool = True


class Vault:
    """All secrets of a session. ``update`` replaces them; placeholders stay valid."""

    def __init__(self, key: bytes, *, shapes: bool = True, re2: Any = None) -> None:
        self._key = key
        self._re2 = re2
        self._uses_shapes = shapes
        self._issued: dict[str, str] = {}
        """Values by placeholder, for the placeholders that were sent to a model."""
        self._hidden: dict[str, Hidden] = {}
        """Replacements of all known values, by every form of the value."""
        self._patterns: tuple[tuple[re.Pattern[str], Entry], ...] = ()
        self._known: _Search | None = None
        self._squeezed: dict[bytes, str] = {}
        """Values by their squeezed form, to find those with colours or line wraps inside."""
        self._split: Any = None
        self._beginnings: Any = None
        self._keys = _Search.of_shapes((PRIVATE_KEY,), None) if shapes else None
        self._shapes = _Search.of_shapes(SHAPES, re2) if shapes else None
        self._cache: OrderedDict[str, str] = OrderedDict()
        self._cached = 0
        self.entries: tuple[Entry, ...] = ()

    def update(self, entries: Iterable[Entry]) -> None:
        """Use these secrets from now on."""
        self.entries = tuple(entries)
        hidden: dict[str, Hidden] = {}
        for entry in self.entries:
            if not entry.is_pattern:
                for form in written_forms(entry.content):
                    hidden.setdefault(form, self._stand_in(form, entry))
        # The key is a secret, too: with it, guesses of a placeholder's value could be checked.
        key = self._key.hex()
        hidden[key] = self._stand_in(key, Entry(content=key, mode="replace"))
        self._hidden = hidden
        self._patterns = tuple((compiled(e), e) for e in self.entries if e.is_pattern)
        self._known = _Search.of_values(sorted(hidden, key=len, reverse=True), self._re2)
        values = (
            value
            for entry in self.entries
            if not entry.is_pattern
            for value in separate_values(entry.content)
            if len(value) <= LONGEST_SPLIT
        )
        squeezed = ((squeeze(decode(_encoded(value))), value) for value in values)
        self._squeezed = {form: value for form, value in squeezed if len(form) >= SHORTEST}
        escaped = (_escaped_bytes(form) for form in sorted(self._squeezed, key=len, reverse=True))
        self._split = _compile(self._re2, b"|".join(escaped))
        beginnings = {form[:BEGINNING] for form in self._squeezed}
        self._beginnings = _compile(self._re2, b"|".join(map(_escaped_bytes, beginnings)))
        self._cache.clear()
        self._cached = 0

    # Masking --------------------------------------------------------------------------------------

    def mask(self, text: str) -> str:
        """Return ``text`` for a model; its reversible placeholders count as issued."""
        masked = self._cache.get(text)
        if masked is None:
            masked = self._replaced(text, self._issue)
            self._remember(text, masked)
        else:
            self._cache.move_to_end(text)
        return masked

    def redact(self, text: str) -> str:
        """Return ``text`` for a log, an export or a guest, with ``[redacted]`` for secrets."""
        return self._replaced(text, lambda value, hidden: REDACTED)

    def _remember(self, text: str, masked: str) -> None:
        self._cache[text] = masked
        self._cached += len(text)
        while self._cached > CACHED_CHARACTERS and len(self._cache) > 1:
            dropped, _ = self._cache.popitem(last=False)
            self._cached -= len(dropped)

    def _replaced(self, text: str, stand_in: Callable[[str, Hidden], str]) -> str:
        shaped = partial(self._of_shape, stand_in)
        # First, because lines of a truncated private key are not known values.
        if self._keys is not None and PRIVATE_KEY.needle in text:
            text = _outside(text, partial(self._keys.sub, replace=shaped))
        # Values before shapes: a shape could match a part of a value and leave the rest.
        replace_value = partial(self._of_value, stand_in)
        if self._is_fast:
            text = self._replaced_at_once(text, replace_value, shaped)
            return self._replaced_split(text, replace_value, shaped)
        if self._known is not None:
            text = _outside(text, partial(self._known.sub, replace=replace_value))
        for pattern, entry in self._patterns:
            matched = partial(self._of_match, entry, stand_in)
            text = _outside(text, partial(pattern.sub, matched))
        if self._shapes is not None:
            # Without ``_outside``: no shape contains ``<``, so none matches a placeholder.
            text = self._shapes.sub(text, replace=shaped)
        return self._replaced_split(text, replace_value, shaped)

    def _replaced_split(
        self, text: str, replace_value: Callable[[str], str], shaped: Callable[[str], str]
    ) -> str:
        """Replace values with colours, line wraps or escapes between their characters."""
        if not may_be_split(text):
            return text
        data = _encoded(text)
        decoded = decode(data)
        replacements: dict[tuple[int, int], tuple[str, Callable[[str], str]]] = {}
        squeezed = squeeze(decoded)
        if values := self._split_values(squeezed):
            replacements |= _spans(Squeezed(data), values, replace_value)
        # The part before the first margin is in one piece: usually that of no value occurs.
        variants = without_margins(data) if self._may_begin(squeezed) else ()
        for index, variant in enumerate(variants):
            if values := self._split_values(squeeze(decode(variant))):
                blanked = [*blanked_margins(data)][index]
                replacements |= _spans(Squeezed(blanked, data), values, replace_value)
        if keys := self._split_keys(changed_lines(data, decoded)):
            replacements = _spans(Squeezed(data), keys, shaped) | replacements
        if not replacements:
            return text
        pieces: list[bytes] = []
        last = 0
        for span in without_overlaps(replacements):
            value, replace = replacements[span]
            pieces += (data[last : span[0]], _encoded(replace(value)))
            last = span[1]
        return b"".join((*pieces, data[last:])).decode("utf-8", "surrogatepass")

    def _split_keys(self, lines: bytes) -> list[str]:
        """The unknown keys of decoded lines."""
        if self._shapes is None or not lines:
            return []
        keys: dict[str, None] = {}

        def collect(value: str) -> str:
            keys.setdefault(value)
            return value

        # Percent signs may have been bytes that are no UTF-8.
        self._shapes.sub(lines.decode("utf-8", "replace"), replace=collect)
        return [key for key in keys if len(key) <= LONGEST_SPLIT]

    def _split_values(self, squeezed: bytes) -> list[str]:
        """The values that a text contains if everything between characters is left out."""
        if self._split is not None:
            return [*dict.fromkeys(self._squeezed[m[0]] for m in self._split.finditer(squeezed))]
        return [value for form, value in self._squeezed.items() if form in squeezed]

    def _may_begin(self, squeezed: bytes) -> bool:
        """Whether the beginning of a value occurs."""
        if self._beginnings is not None:
            return self._beginnings.search(squeezed) is not None
        return any(form[:BEGINNING] in squeezed for form in self._squeezed)

    @property
    def _is_fast(self) -> bool:
        searches = (self._known, self._shapes)
        return not self._patterns and all(s is not None and s.is_fast for s in searches)

    def _replaced_at_once(
        self, text: str, replace_value: Callable[[str], str], shaped: Callable[[str], str]
    ) -> str:
        """Do both searches on the same bytes: encoding a text takes as long as half a search."""
        assert self._known is not None
        assert self._shapes is not None
        data = text.encode("utf-8", "surrogatepass")
        changed = self._shapes.sub_bytes(self._known.sub_bytes(data, replace_value), shaped)
        return text if changed is data else changed.decode("utf-8", "surrogatepass")

    def _of_value(self, stand_in: Callable[[str, Hidden], str], value: str) -> str:
        return stand_in(value, self._hidden[value])

    def _of_match(
        self, entry: Entry, stand_in: Callable[[str, Hidden], str], match: re.Match[str]
    ) -> str:
        value = match[0]
        return stand_in(value, self._stand_in(value, entry)) if value else value

    def _of_shape(self, stand_in: Callable[[str, Hidden], str], value: str) -> str:
        return stand_in(value, Hidden(text=self._placeholder(value)))

    def _issue(self, value: str, hidden: Hidden) -> str:
        if hidden.is_reversible:
            self._issued[hidden.text] = value
        return hidden.text

    def _stand_in(self, value: str, entry: Entry) -> Hidden:
        if entry.mode == "obfuscate":
            return Hidden(text=self._placeholder(value))
        text = entry.replacement or self._same_length(value)
        return Hidden(text=text, is_reversible=False)

    def _placeholder(self, value: str) -> str:
        digest = self._digest(value).hex()
        size = DIGITS
        # More digits if another value has the same beginning of the hash.
        while self._issued.get(name := f"{OPENING}{digest[:size]}{CLOSING}", value) != value:
            size += DIGITS
        return name

    def _same_length(self, value: str) -> str:
        digits = self._digest(value)
        while len(digits) < len(value):
            digits += self._digest(digits.hex())
        return "".join(_ALPHABET[digit % len(_ALPHABET)] for digit in digits[: len(value)])

    def _digest(self, value: str) -> bytes:
        return hmac.digest(self._key, value.encode("utf-8", "surrogatepass"), "sha256")

    # Restoring ------------------------------------------------------------------------------------

    def restore(self, text: str) -> str:
        """Return ``text`` with the values of all issued placeholders; others stay."""
        if OPENING not in text:
            return text
        return PLACEHOLDER.sub(lambda match: self._issued.get(match[0], match[0]), text)

    @property
    def issued_count(self) -> int:
        """The number of placeholders that were sent to a model."""
        return len(self._issued)

    def contains_known(self, data: bytes) -> bool:
        """Whether binary data, such as a picture, contains a known value."""
        return any(value.encode("utf-8", "surrogatepass") in data for value in self._hidden)

    def blanked(self, data: bytes) -> bytes:
        """Return ``data`` with every known value overwritten by ``x``, at the same length."""
        for value in sorted(self._hidden, key=len, reverse=True):
            raw = value.encode("utf-8", "surrogatepass")
            if raw in data:
                data = data.replace(raw, b"x" * len(raw))
        return data


def _outside(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to the text between placeholders."""
    if OPENING not in text:
        return change(text)
    pieces: list[str] = []
    last = 0
    for match in PLACEHOLDER.finditer(text):
        pieces += (change(text[last : match.start()]), match[0])
        last = match.end()
    return "".join((*pieces, change(text[last:])))


def _spans(
    text: Squeezed, values: Iterable[str], replace: Callable[[str], str]
) -> dict[tuple[int, int], tuple[str, Callable[[str], str]]]:
    """Return where values are in a text, with the function that replaces them."""
    return {
        span: (value, replace) for value in values for span in text.spans(Squeezed(_encoded(value)))
    }


class _Search:
    """Finds many texts in one pass with RE2 (2 ms for 1 MB), or one after another with ``re``."""

    def __init__(
        self,
        fast: Any,
        needles: tuple[tuple[str, re.Pattern[str] | None, IsSecret | None], ...],
    ) -> None:
        self._fast = fast
        self._needles = needles
        """A text that every match contains, the pattern (``None`` for a literal value), and the
        check of a match."""
        self._of_whole_values = all(pattern is None for _, pattern, _ in needles)

    @classmethod
    def of_values(cls, values: Iterable[str], re2: Any) -> _Search:
        values = tuple(values)
        escaped = (_escaped(value) for value in values)
        return cls(_compile(re2, b"|".join(escaped)), tuple((v, None, None) for v in values))

    @classmethod
    def of_shapes(cls, shapes: Sequence[Shape], re2: Any) -> _Search:
        patterns = [in_texts(shape.pattern) for shape in shapes]
        needles = tuple(
            (shape.needle, re.compile(pattern, re.ASCII), shape.is_secret)
            for shape, pattern in zip(shapes, patterns, strict=True)
        )
        plain = (without_groups(pattern).encode() for pattern in patterns)
        return cls(_compile(re2, b"|".join(plain)), needles)

    def sub(self, text: str, replace: Callable[[str], str]) -> str:
        """Return ``text`` with every match replaced."""
        if self._fast is None:
            return self._slow(text, replace)
        data = text.encode("utf-8", "surrogatepass")
        changed = self.sub_bytes(data, replace)
        return text if changed is data else changed.decode("utf-8", "surrogatepass")

    @property
    def is_fast(self) -> bool:
        """Whether ``sub_bytes`` works."""
        return self._fast is not None

    def sub_bytes(self, data: bytes, replace: Callable[[str], str]) -> bytes:
        """``sub`` for UTF-8; returns ``data`` itself if nothing matches. Needs ``is_fast``."""
        pieces: list[bytes] = []
        last = 0
        for occurrence in self._fast.finditer(data):
            start, end = occurrence.span()
            match = data[start:end].decode("utf-8", "surrogatepass")
            changed = replace(match) if self._of_whole_values else self._slow(match, replace)
            pieces += (data[last:start], changed.encode("utf-8", "surrogatepass"))
            last = end
        return b"".join((*pieces, data[last:])) if pieces else data

    def _slow(self, text: str, replace: Callable[[str], str]) -> str:
        for needle, pattern, is_secret in self._needles:
            if needle not in text:
                continue
            if pattern is None:
                change = partial(_replace_value, value=needle, replace=replace)
            else:
                changed = partial(pattern.sub, partial(_replace_secret, replace, is_secret))
                change = partial(_in_lines, needle, changed)
            text = _outside(text, change)
        return text


def _replace_value(text: str, *, value: str, replace: Callable[[str], str]) -> str:
    return text.replace(value, replace(value)) if value in text else text


def _in_lines(needle: str, change: Callable[[str], str], text: str) -> str:
    """Apply ``change`` to the lines with ``needle``: finding them is faster than the patterns."""
    if needle == PRIVATE_KEY.needle:
        return change(text)
    pieces: list[str] = []
    last = 0
    while (position := text.find(needle, last)) >= 0:
        start = text.rfind("\n", last, position) + 1 or last
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        pieces += (text[last:start], change(text[start:end]))
        last = end
    return "".join((*pieces, text[last:]))


def _replace_secret(
    replace: Callable[[str], str], is_secret: IsSecret | None, match: re.Match[str]
) -> str:
    start, end = secret_part(match)
    text = match.string
    if is_secret is not None and not is_secret(text[match.start() : start], text[start:end]):
        return match[0]
    return text[match.start() : start] + replace(text[start:end]) + text[end : match.end()]


def _escaped(value: str) -> bytes:
    return _escaped_bytes(_encoded(value))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _escaped_bytes(raw: bytes) -> bytes:
    # Byte by byte: RE2 is set to Latin-1, so that surrogates are no problem.
    return b"".join(b"\\x%02x" % byte for byte in raw)


def _compile(re2: Any, pattern: bytes) -> Any:
    if re2 is None or not pattern:
        return None
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error:  # too many values for its memory limit: ``re`` is used
        return None
