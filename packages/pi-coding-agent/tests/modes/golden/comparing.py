"""Whether a record of ours says what the recorded one says, whatever it calls things.

What must differ is bound or left out: ids are the same ids throughout, one of ours for one of
theirs; times are times; our own prose stands where theirs was removed.
"""

from __future__ import annotations

import math
import re
from typing import Any

from tests.modes.golden.recording import Json

REMOVED = "[text removed]"
UNREADABLE = "Failed to parse command: "
"""What follows is "<engine text>" (compat/rpc.md)."""
_ID_KEYS = frozenset(
    {"id", "parentId", "targetId", "firstKeptEntryId", "leafId", "entryId", "sessionId"}
)
_ENTRY_ID = re.compile(r"[0-9a-f]{8}")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z"
_IS_TIME = re.compile(_TIME)
_TOKEN = re.compile(rf"({_TIME}_{_UUID}|{_UUID}|{_TIME}|pi-bash-[0-9a-f]{{16}})")
"""Names of session files, ids of sessions, times, and names of files with whole outputs."""


class Comparison:
    """Compares one replay, record by record; remembers which id stands for which."""

    def __init__(self, usages: list[Json]) -> None:
        self._usages = usages
        """What the recorded answers cost, at any moment."""
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}
        self._since = 0

    def ours_for(self, line: str) -> str:
        """A recorded line, with our ids for theirs."""
        for theirs, ours in sorted(self._ours.items(), key=lambda ids: -len(ids[0])):
            line = line.replace(theirs, ours)
        return line

    def differences(self, recorded: Json, ours: Json) -> list[str]:
        """Where the records differ, and how; nothing if they do not."""
        ours = dict(ours)
        differences = list(self._time(ours))
        recorded, ours = self._at_this_moment(recorded, ours)
        return differences + self._compare("", recorded, ours)

    def _time(self, ours: Json) -> list[str]:
        """Every event has the time since its session began; responses and the header do not."""
        since = ours.pop("since_session_ms", None)
        expected = ours["type"] not in ("response", "session")
        if expected != isinstance(since, int):
            return [f"since_session_ms: {since!r}"]
        return []

    def _at_this_moment(self, recorded: Json, ours: Json) -> tuple[Json, Json]:
        """The records without what depends on how fast the answer came.

        compat/json-mode.md: "`usage` is read when the record is serialised, so early deltas may
        already show final usage"; the same holds for what a beginning answer shows.
        """
        match recorded, ours:
            case {"type": "message_update"}, {"type": "message_update"}:
                return recorded, self._with_usage_of(recorded, ours)
            case (
                {"type": "message_start", "message": {"stopReason": "pending"} as theirs},
                {"type": "message_start", "message": {"stopReason": "pending"} as mine},
            ):
                mine = self._with_usage_of(theirs, mine)
                if "responseId" not in theirs:
                    mine.pop("responseId", None)
                return recorded, ours | {"message": mine}
        return recorded, ours

    def _with_usage_of(self, theirs: Json, ours: Json) -> Json:
        """``ours``, with the usage of ``theirs`` if its own is that of another moment."""
        moments = (not self._compare("", usage, ours["usage"]) for usage in self._usages)
        return ours | ({"usage": theirs["usage"]} if any(moments) else {})

    def _compare(self, path: str, theirs: Any, ours: Any) -> list[str]:
        match theirs, ours:
            case dict(), dict():
                return self._compare_objects(path, theirs, ours)
            case list(), list() if len(theirs) == len(ours):
                pairs = enumerate(zip(theirs, ours, strict=True))
                return [d for n, (a, b) in pairs for d in self._compare(f"{path}[{n}]", a, b)]
            case str(), str():
                same = self._same_text(path, theirs, ours)
            case ((int() | float()), (int() | float())):
                # How far a sum of prices is rounded is no one's promise.
                same = type(theirs) is type(ours) or not isinstance(theirs, bool)
                same = same and math.isclose(theirs, ours, rel_tol=1e-9)
            case _:
                same = theirs == ours
        return [] if same else [f"{path}: {_short(theirs)} != {_short(ours)}"]

    def _compare_objects(self, path: str, theirs: Json, ours: Json) -> list[str]:
        # compat/session-format.md: "`cacheWrite1h`, `reasoning` optional".
        theirs, ours = _without_later(_without_zeros(theirs), _without_zeros(ours))
        differences = [f"{path}.{key}: not there" for key in theirs if key not in ours]
        differences += [
            f"{path}.{key}: not recorded"
            for key in ours
            if key not in theirs and not (key == "description" and ".parameters" in path)
        ]
        for key in theirs:
            if key not in ours:
                continue
            if key == "timestamp" and isinstance(theirs[key], int) and isinstance(ours[key], int):
                continue
            differences += self._compare(f"{path}.{key}", theirs[key], ours[key])
        return differences

    def _same_text(self, path: str, theirs: str, ours: str) -> bool:
        if path.rpartition(".")[2] in _ID_KEYS and _ENTRY_ID.fullmatch(theirs):
            return self._same_id(theirs, ours)
        if theirs.startswith(UNREADABLE):
            return ours.startswith(UNREADABLE)
        if REMOVED in theirs:
            pattern = ".*".join(re.escape(part) for part in theirs.split(REMOVED))
            return re.fullmatch(pattern, ours, re.DOTALL) is not None
        mine, other = _TOKEN.split(theirs), _TOKEN.split(ours)
        if len(mine) != len(other) or mine[::2] != other[::2]:
            return False
        return all(
            _IS_TIME.fullmatch(a) or self._same_id(a, b)
            for a, b in zip(mine[1::2], other[1::2], strict=True)
        )

    def _same_id(self, theirs: str, ours: str) -> bool:
        return (
            self._ours.setdefault(theirs, ours) == ours
            and self._theirs.setdefault(ours, theirs) == theirs
        )


LATER = frozenset(
    {"totalFromProvider", "aborted", "durationMs", "structuredContent", "thinkingLevel", "isError"}
)
"""Fields that 1.5.2 has added to records that were recorded before."""


def _without_later(theirs: Json, ours: Json) -> tuple[Json, Json]:
    """The records without what 1.5.2 writes and the recorded version does not, and vice versa."""
    if theirs.get("details") == {} and "details" not in ours and ours.get("isError") is True:
        theirs = {key: value for key, value in theirs.items() if key != "details"}
    if "data" not in theirs and ours.get("data", {}).keys() == {"disposition"}:
        ours = {key: value for key, value in ours.items() if key != "data"}
    return theirs, {k: v for k, v in ours.items() if k in theirs or k not in LATER}


def _without_zeros(value: Json) -> Json:
    """A usage without counts that may as well be absent; anything else as it is."""
    if "totalTokens" not in value:
        return value
    return {k: v for k, v in value.items() if v or k not in ("cacheWrite1h", "reasoning")}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}"
