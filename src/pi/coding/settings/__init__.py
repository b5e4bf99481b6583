"""Settings: two JSON files, merged and read leniently.

The user's file is in the agent directory, the project's in ``.pi``. Must not import the code that
uses a setting: that code declares its record. ``table`` describes all settings for users.
"""
