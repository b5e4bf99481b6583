"""Settings: two JSON files that people and pi write, merged, and read leniently.

The person's own file lies in the agent directory, the project's in ``.pi``. Must not know how a
setting is used: whoever needs one declares its record. ``table`` describes all of them for users.
"""
