"""Stream rules: an answer that breaks a rule is interrupted while it streams, and asked for again.

``patterns`` translates and compiles conditions, ``rules`` makes stream rules of rule files,
and ``injections`` decides what follows a match; these are pure. ``matcher`` finds rules in a
stream, and runs what may take long in a child process (``matcher_process``). ``policy`` connects
all of it to a run, and ``adapter`` to a session.
"""
