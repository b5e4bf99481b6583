"""The whole screen for ourselves: the alternate screen, with our own scrolling, mouse and search.

``display`` paints, ``scroll_view`` shows a part of something long, ``selection`` and ``search``
mark text in it, ``mouse`` brings events to components, ``keys`` acts on the keys of this mode.
Nothing here is imported unless a program asks for it.
"""
