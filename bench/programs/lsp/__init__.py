"""Language servers."""
