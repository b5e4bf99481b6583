"""Markdown as a component that is cheap to extend while it streams.

``streaming`` splits the growing source into final blocks and a tail, ``parse`` creates blocks,
``draw`` and ``highlight`` draw them, and ``widget`` keeps the rows.
"""
