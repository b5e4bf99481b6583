"""Fullscreen mode: the alternate screen with its own scrolling, mouse and search.

``display`` paints and routes the mouse, ``scroll_view`` shows a part of a long component,
``text_search`` finds and selects text, ``keys`` handles the keys of this mode. The package is
imported only on request.
"""
