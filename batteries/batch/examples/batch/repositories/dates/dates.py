"""Small functions with a bug each, for the batch example."""


def is_leap(year):
    return year % 4 == 0


def days(month):
    return 31 if month % 2 else 30


def clock(seconds):
    return f"{seconds // 60}:{seconds % 60}"


def iso(day, month, year):
    return f"{year}-{day:02}-{month:02}"


def quarter(month):
    return month // 3 + 1
