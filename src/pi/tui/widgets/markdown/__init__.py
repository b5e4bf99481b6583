"""Markdown on a screen, cheap to extend while it streams.

``splitting`` cuts the growing source where what comes before is final, ``parse`` makes blocks of
it, ``blocks``, ``inline``, ``tables`` and ``highlight`` draw them, and ``widget`` keeps the rows.
"""
