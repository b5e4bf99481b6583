"""Measures the real program beside a floor: the least that a bare one could cost.

Not part of the product. Uses the product as a command line, and ``pi.ai`` as a library in
``programs``. ``README.md`` explains how to run it and how to read its results.
"""
