"""Stream rules: an answer that breaks a rule is interrupted while it streams, and asked for again.

``patterns`` translates and compiles conditions, ``rules`` makes stream rules of rule files,
``matching`` finds them in a stream and ``injections`` decides what follows; these are pure.
``matcher`` runs what may take long in a child process (``matcher_process``). ``policy`` connects
all of it to a run, and ``adapter`` to a session.
"""
