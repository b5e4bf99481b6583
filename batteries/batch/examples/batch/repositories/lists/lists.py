"""Small functions with a bug each, for the batch example."""


def last(items):
    return items[len(items)]


def unique(items):
    return list(set(items))


def append_to(item, items=[]):
    return items + [item] if items else items.append(item) or items


def pairs(items):
    return list(zip(items, items))


def flatten(lists):
    return [each for each in lists]
