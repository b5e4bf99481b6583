"""Real terminals: POSIX, Windows, tmux."""
