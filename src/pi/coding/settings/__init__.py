"""Settings: two JSON files that people and pi write, merged, and read leniently.

The person's own file lies in the agent directory, the project's in ``.pi``. Must not know what a
setting means: whoever needs one declares it.
"""
