"""Settings: two JSON files, merged.

The user's file is in the agent directory, the project's in ``.pi``. ``Settings`` validates, merges
and writes; a file that cannot be read is an error, and an invalid value of a guard its strictest
choice (``guards``). Must not import the code that uses a setting: that code declares its record.
``table`` describes all settings for users.
"""
