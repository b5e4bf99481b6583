"""``StatusEngine``: a state and the time go in, two lines come out."""

from __future__ import annotations

from collections.abc import Sequence

from pi.batteries.status_engine.composing import compose
from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.items import StatusItem
from pi.batteries.status_engine.line_source import LineSource
from pi.batteries.status_engine.payload import payload
from pi.batteries.status_engine.state import StatusEngineState
from pi.batteries.status_engine.typesetting import Typesetting
from pi.extension import Record, replace


class StatusOutput(Record):
    """What is shown below line 1."""

    line2: str = ""
    line3: str | None = None


class StatusEngine:
    """Composes the lines; whoever draws them only paints strings.

    ``sources`` of line 3 come in the order of their precedence: the first that has a line is
    shown. Nothing here waits: a source is asked beside, and its line is seen by a later tick.
    """

    def __init__(
        self,
        config: StatusEngineConfig,
        sources: Sequence[LineSource] = (),
        *,
        text: Typesetting | None = None,
        version: str = "",
    ) -> None:
        self._sources = tuple(sources)
        self._text = text or Typesetting()
        self._version = version
        self._items = config.items
        self._state = StatusEngineState()
        self._total_duration_ms = 0

    @property
    def state(self) -> StatusEngineState:
        """The last one that was set."""
        return self._state

    @property
    def total_duration_ms(self) -> int:
        """The greatest ``since_session_ms`` of this session."""
        return self._total_duration_ms

    def set_state(self, state: StatusEngineState) -> None:
        """Tell what is so now; sources are asked again if anything but the time has changed."""
        before, self._state = self._state, state
        if state.session_id != before.session_id:
            self._total_duration_ms = 0
        self._total_duration_ms = max(self._total_duration_ms, state.since_session_ms)
        if replace(before, since_session_ms=state.since_session_ms) != state:
            self.stir()

    def set_line2_selection(self, items: Sequence[StatusItem]) -> None:
        """Choose what line 2 shows, and in which order."""
        self._items = tuple(dict.fromkeys(items))

    def stir(self) -> None:
        """Have the sources asked again: something has happened."""
        for source in self._sources:
            source.stir()

    def tick(self, now: float, width: int) -> StatusOutput:
        """The lines for ``width`` columns; ``now`` is in seconds of a monotonic clock."""
        for source in self._sources:
            source.poll(now, self._payload)
        lines = (self._text.styled(source.line) for source in self._sources if source.line)
        return StatusOutput(
            line2=compose(self._items, self._state, width, self._text),
            line3=next((line for line in lines if line), None),
        )

    def _payload(self) -> bytes:
        total = self._total_duration_ms
        return payload(self._state, total_duration_ms=total, version=self._version)
