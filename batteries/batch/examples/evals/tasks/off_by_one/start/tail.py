def last(items, n):
    return items[-n - 1 :]
