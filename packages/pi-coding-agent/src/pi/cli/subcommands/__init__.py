"""One module per ``pi <word>``, each with ``run(arguments, environ) -> exit code``."""
