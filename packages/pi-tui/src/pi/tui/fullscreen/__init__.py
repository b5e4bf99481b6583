"""Fullscreen mode: the alternate screen with its own scrolling, mouse and search.

``display`` paints and routes the mouse; ``scroll_view`` shows a part of a long component, and finds
and selects text in it; ``keys`` handles the keys of this mode. The package is imported only on
request.
"""
