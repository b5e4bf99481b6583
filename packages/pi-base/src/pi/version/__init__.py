"""The version of pi.

``pi`` itself is a namespace of several distributions and holds nothing.
"""

__version__ = "0.1.0"
