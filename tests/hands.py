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
    page.locator("select").select_option(option)


def words(page, text):
    page.locator(".attn-words input").fill(text)
    press(page, "Use them")


def touch(page, selector, place):
    """Press one of many things that are alike, without mouse or keyboard."""
    page.locator(selector).nth(place).dispatch_event("click")


def point(page, selector, place):
    page.locator(selector).nth(place).focus()


def swipe(page, right, down, places=10):
    """Return a function that draws a finger from a place across the page, in steps."""
    session = page.context.new_cdp_session(page)

    def touches(kind, *points):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    def draw(x, y):
        touches("touchStart", (x, y))
        for step in range(1, places + 1):
            touches("touchMove", (x + right * step / places, y + down * step / places))
            page.wait_for_timeout(16)  # a page that scrolls along takes its time to begin
        touches("touchEnd")

    return draw


def bring(page):
    """Bring what a figure of the page asks for first."""
    if page.locator(".attn-load").count():
        page.locator(".attn-load").click()
        page.locator(".attn-load").wait_for(state="detached")


def hold(page, label, pressed):
    """Press a key at what the reader takes hold of in a drawing."""
    page.get_by_role("slider", name=label, exact=True).press(pressed)


def drag(page, label, right, down, *, release=True):
    """Take hold of something in a drawing and move it by some pixels."""
    box = page.locator(f".attn-handle[aria-label='{label}'] .attn-target").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down)
    if release:
        page.mouse.up()
