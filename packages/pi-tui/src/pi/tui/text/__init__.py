"""Measures, slices, wraps and truncates styled text.

A line consists of graphemes, which take 0, 1 or 2 columns, and of escape sequences, which take
none. A tab always takes ``TAB_WIDTH`` columns, and functions that cut or wrap text convert it to
spaces. The package is independent of components and terminals.
"""
