"""``pi <word> …``: one module per word, each with ``run(words, environ) -> exit code``."""
