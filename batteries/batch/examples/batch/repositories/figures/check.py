"""Checks one function: ``python check.py NAME``."""

import sys

import figures

CHECKS = {
    "mean": lambda: figures.mean([1, 2]) == 1.5,
    "is_even": lambda: figures.is_even(4) and not figures.is_even(3),
    "clamp": lambda: figures.clamp(9, 0, 5) == 5 and figures.clamp(-1, 0, 5) == 0,
    "factorial": lambda: figures.factorial(0) == 1,
    "percent": lambda: figures.percent(1, 4) == "25%",
}

sys.exit(0 if CHECKS[sys.argv[1]]() else "wrong")
