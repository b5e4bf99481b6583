"""How to speak: one package per wire protocol, each ignorant of the others.

``request`` encodes and ``response`` decodes, both pure; the package itself does the I/O through
``pi.ai.wire_support.exchange``. Must not know providers: quirks arrive as compat flags.
"""
