"""Small functions with a bug each, for the batch example."""


def mean(values):
    return sum(values) // len(values)


def is_even(number):
    return number % 2 == 1


def clamp(value, low, high):
    return min(low, max(value, high))


def factorial(number):
    return 1 if number == 1 else number * factorial(number - 1)


def percent(part, whole):
    return f"{part / whole:.0f} %"
