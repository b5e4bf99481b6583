"""Settings: two JSON files, merged and read leniently.

The user's file is in the agent directory, the project's in ``.pi``. Must not know how a setting is
used: each user of a setting declares its record. ``table`` describes all settings for users.
"""
