"""Components that lie over the window, and what happens to the focus when they come and go."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.component import Component
from pi.tui.focus import Focus
from pi.tui.placement import Bounds, OverlayOptions, Space
from pi.tui.screen.compositing import Layer
from pi.tui.terminal import Size


class OverlayHandle:
    """An overlay on the screen, for whoever showed it."""

    def __init__(self, component: Component, options: OverlayOptions, owner: Overlays) -> None:
        self.component = component
        self.options = options
        self.bounds: Bounds | None = None
        """Where it was last drawn; None while it is not to be seen."""
        self._owner = owner
        self._hidden = False

    @property
    def is_hidden(self) -> bool:
        """Whether it was switched off with ``set_hidden``."""
        return self._hidden

    @property
    def is_focused(self) -> bool:
        """Whether it gets the keys."""
        return self._owner.focus.target is self.component

    def hide(self) -> None:
        """Take it off the screen for good; the focus goes back to where it came from."""
        self._owner.remove(self)

    def set_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - named as in the specification
        """Switch it off or on again; one that takes keys comes back to the front with them."""
        self._hidden = hidden
        if hidden or self.options.non_capturing:
            self._owner.settle()
        else:
            self._owner.raise_to_front(self)

    def focus(self) -> None:
        """Bring it to the front and give it the keys."""
        self._owner.raise_to_front(self)

    def unfocus(self, target: Component | None = None) -> None:
        """Leave it on the screen, but give the keys to ``target`` or to what is below."""
        self._owner.release(self, target)


class Overlays:
    """The overlays, the last one on top.

    The focus is with the topmost overlay that is visible and takes keys; without one, with the
    component below that had it last.
    """

    def __init__(self, focus: Focus, *, size: Callable[[], Size]) -> None:
        self.focus = focus
        self._size = size
        self._stack: list[OverlayHandle] = []
        self._released: set[int] = set()
        """Overlays that leave the keys to others until they are told to take them."""
        self._below: Component | None = None

    def __len__(self) -> int:
        return len(self._stack)

    def show(self, component: Component, options: OverlayOptions | None = None) -> OverlayHandle:
        """Put a component over everything else."""
        handle = OverlayHandle(component, options or OverlayOptions(), self)
        self._stack.append(handle)
        if handle.options.non_capturing:
            self._released.add(id(handle))
        self.settle()
        return handle

    def set_focus_below(self, target: Component | None) -> None:
        """Who has the focus when no overlay wants it."""
        self._below = target
        self.settle()

    def focus_pressed(self, target: Component) -> None:
        """Give the keys to what the mouse was pressed on, be it an overlay or below them."""
        pressed = next((handle for handle in self._stack if handle.component is target), None)
        if pressed is None:
            self.set_focus_below(target)
        else:
            self.raise_to_front(pressed)

    def remove(self, handle: OverlayHandle) -> None:
        """Take an overlay off; nothing happens if it is gone already."""
        if handle in self._stack:
            self._stack.remove(handle)
            self._released.discard(id(handle))
            handle.bounds = None
            self.settle()

    def remove_top(self) -> None:
        """Take the topmost visible overlay off."""
        visible = [handle for handle in self._stack if self._is_visible(handle)]
        if visible:
            self.remove(visible[-1])

    def raise_to_front(self, handle: OverlayHandle) -> None:
        """Put an overlay on top of the others and give it the keys."""
        if handle in self._stack:
            self._stack.remove(handle)
            self._stack.append(handle)
            self._released.discard(id(handle))
            self.settle()

    def release(self, handle: OverlayHandle, target: Component | None) -> None:
        """Let an overlay leave the keys to others until it is raised again."""
        if handle in self._stack:
            self._released.add(id(handle))
        if target is not None:
            self._below = target
        self.settle()

    def settle(self) -> None:
        """Give the focus to whoever should have it now."""
        wanting = [handle for handle in self._stack if self._wants_keys(handle)]
        self.focus.set(wanting[-1].component if wanting else self._below)

    def layers(self) -> list[Layer]:
        """The visible overlays, drawn and placed, the lowest first."""
        layers: list[Layer] = []
        for handle in self._stack:
            handle.bounds = None
            if not self._is_visible(handle):
                continue
            space = Space(handle.options, self._size())
            lines = handle.component.render(space.width)[: space.height]
            handle.bounds = space.bounds(len(lines))
            layers.append(Layer(handle.bounds.row, handle.bounds.column, space.width, lines))
        return layers

    @property
    def handles(self) -> tuple[OverlayHandle, ...]:
        """All overlays, the topmost last."""
        return tuple(self._stack)

    @property
    def has_visible(self) -> bool:
        """Whether any overlay is to be seen."""
        return any(map(self._is_visible, self._stack))

    def _is_visible(self, handle: OverlayHandle) -> bool:
        if handle.is_hidden:
            return False
        size = self._size()
        return handle.options.visible is None or handle.options.visible(size.columns, size.rows)

    def _wants_keys(self, handle: OverlayHandle) -> bool:
        return id(handle) not in self._released and self._is_visible(handle)
