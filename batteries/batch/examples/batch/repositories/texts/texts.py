"""Small functions with a bug each, for the batch example."""


def initials(name):
    return "".join(word[0] for word in name.split())


def is_palindrome(text):
    return text == text[::-1]


def slug(title):
    return title.lower().replace(" ", "_")


def shorten(text, width):
    return text[:width]


def count_words(text):
    return len(text.split(" "))
