"""Checks one function: ``python check.py NAME``."""

import sys

import texts

CHECKS = {
    "initials": lambda: texts.initials("ada king lovelace") == "AKL",
    "is_palindrome": lambda: texts.is_palindrome("Level"),
    "slug": lambda: texts.slug("Two Words") == "two-words",
    "shorten": lambda: texts.shorten("abcdef", 4) == "abc…",
    "count_words": lambda: texts.count_words("a  b ") == 2,
}

sys.exit(0 if CHECKS[sys.argv[1]]() else "wrong")
