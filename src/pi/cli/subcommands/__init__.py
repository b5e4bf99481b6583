"""One module per ``pi <word>``, each with ``run(words, environ) -> exit code``."""
