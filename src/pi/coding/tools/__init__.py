"""The built-in tools, one per file, each with its description for the model beside it as ``.md``.

Tools do, views show: nothing here draws. What a tool needs it is given when it is built.
"""
