"""What a reader's hands do to a page: functions of a page, and of what they touch."""


def control(page, label):
    return page.locator("label").filter(has=page.get_by_text(label, exact=True)).locator("input")


def key(page, label, pressed):
    control(page, label).press(pressed)


def click(page, label):
    control(page, label).click()


def fill(page, label, text):
    control(page, label).fill(text)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def choose(page, option):
    offered = page.locator(f'option:text-is("{option}"), option[value="{option}"]')
    page.locator("select").filter(has=offered).select_option(option)


def words(page, text):
    page.locator(".attn-words input").fill(text)
    press(page, "Use them")


def touch(page, selector, place):
    """Press one of many things that are alike, without mouse or keyboard."""
    page.locator(selector).nth(place).dispatch_event("click")


def point(page, selector, place):
    page.locator(selector).nth(place).focus()


def bring(page):
    """Bring what a figure of the page asks for first."""
    if page.locator(".attn-load").count():
        page.locator(".attn-load").click()
        page.locator(".attn-load").wait_for(state="detached")
