"""Checks one function: ``python check.py NAME``."""

import sys

import lists

CHECKS = {
    "last": lambda: lists.last([1, 2]) == 2,
    "unique": lambda: lists.unique([3, 1, 3, 2]) == [3, 1, 2],
    "append_to": lambda: lists.append_to(1) == [1] and lists.append_to(2) == [2],
    "pairs": lambda: lists.pairs([1, 2, 3]) == [(1, 2), (2, 3)],
    "flatten": lambda: lists.flatten([[1], [2, 3]]) == [1, 2, 3],
}

sys.exit(0 if CHECKS[sys.argv[1]]() else "wrong")
