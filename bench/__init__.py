"""Measures the real program beside the least that a bare one could cost. Not part of the product.

Knows the product as a command line, and ``pi.ai`` as a library in ``programs``. ``README.md`` says
how to run it and how to read it.
"""
