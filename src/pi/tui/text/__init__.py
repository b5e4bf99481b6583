"""The width engine: measuring, slicing, wrapping and truncating styled text.

One model for everything that is drawn: a line is made of graphemes, which take 0, 1 or 2 columns,
and of escape sequences, which take none. A tab takes ``TAB_WIDTH`` columns wherever it stands, and
whatever cuts or wraps a text writes it as spaces. Nothing here knows components or terminals.
"""
