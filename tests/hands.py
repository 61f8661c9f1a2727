"""What a reader's hands do to the figures, as functions that take a page."""


def press(name):
    return lambda page: page.get_by_role("button", name=name, exact=True).click()
