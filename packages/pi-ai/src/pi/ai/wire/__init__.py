"""Wire protocols: one package each, independent of the others.

``request`` encodes and ``response`` decodes, both pure; the package itself does the I/O through
``pi.ai.wire_support.exchange``. Independent of providers: their quirks are compat flags.
"""
