"""The built-in tools, one per file, each with its description for the model beside it as ``.md``.

Nothing here draws: how a call looks on the screen is defined by views. Dependencies of a tool are
passed to the function that builds it.
"""
