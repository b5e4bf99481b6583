"""What ./pi, ./test and releases run."""
