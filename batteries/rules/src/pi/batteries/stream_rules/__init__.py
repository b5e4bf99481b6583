"""Stream rules: an answer that breaks a rule is interrupted while it streams, and retried.

``patterns`` translates and compiles conditions, ``rules`` makes stream rules of rule files, and
``injections`` writes the messages and limits repetitions; these are pure. ``matcher`` matches rules
with a stream, slow patterns in a child process (``matcher_process``). ``decisions`` chooses between
interrupt, message and reminder. ``policy`` connects them to a run, and ``adapter`` to a session.
"""
