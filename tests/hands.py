"""What a reader's hands do to a page: functions of a page, and of what they touch."""

import re


def control(page, label):
    return page.locator("label").filter(has=page.get_by_text(label, exact=True)).locator("input")


def key(page, label, pressed):
    control(page, label).press(pressed)


def swipe(page, x, y, right, down):
    """Draw a finger over the page, and return what the page was told of it at the end."""
    page.evaluate(
        """() => {
          delete document.body.dataset.ended;
          ["pointerup", "pointercancel"].forEach((name) =>
            document.addEventListener(name, () => (document.body.dataset.ended = name), { once: true }));
        }"""
    )
    finger = page.context.new_cdp_session(page)

    def touch(kind, *points):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", (x, y))
    for share in (0.25, 0.5, 0.75, 1):
        touch("touchMove", (x + share * right, y + share * down))
        page.evaluate("() => new Promise(requestAnimationFrame)")
    touch("touchEnd")
    page.wait_for_function("document.body.dataset.ended")
    return page.evaluate("document.body.dataset.ended")


def click(page, label):
    control(page, label).click()


def fill(page, label, text):
    control(page, label).fill(text)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def go(page, steps):
    for _ in range(steps):
        press(page, "Next step")


def choose(page, option):
    offered = page.locator(f'option:text-is("{option}"), option[value="{option}"]')
    page.locator("select").filter(has=offered).select_option(option)
    asked = "(nodes) => !nodes.some((node) => node.textContent.includes('on the way'))"
    page.wait_for_function(f"() => ({asked})([...document.querySelectorAll('.attn-problem')])")


def pick(page, label, option):
    page.get_by_label(label, exact=True).select_option(option)


def train(page):
    """Train to the last step."""
    press(page, "▶ Train")
    page.get_by_text(re.compile("All .* steps:")).wait_for()


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


def unfold(page):
    """Open what is folded away."""
    for summary in page.locator("details:not([open]) > summary").element_handles():
        summary.click()


def as_in_the_book(page):
    """Give a page of nothing but figures the width that the book has for them, and its letters."""
    page.add_style_tag(content="body { margin: 0 16px; font-family: system-ui } main { max-width: 688px }")


def handle(page, label):
    """Return what a drawing offers to be held."""
    return page.locator(".attn-handle").and_(page.get_by_role("slider", name=label, exact=True))


def hold(page, label, pressed):
    """Press a key at what the reader can take hold of in a drawing."""
    handle(page, label).press(pressed)


def drag(page, label, right, down=0, *, release=True):
    """Take hold of it with the mouse and move it by so many pixels."""
    handle(page, label).scroll_into_view_if_needed()
    box = handle(page, label).locator(".attn-target").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2)
    page.mouse.move(x + right, y + down)
    if release:
        page.mouse.up()


NOTEBOOK = """(name, state) => {
  const listening = [], did = [];
  const tell = (event, ...what) =>
    listening.filter(([heard]) => heard === event).forEach(([, listener]) => listener(...what));
  const model = {
    get: (key) => did.push("get") && state[key],
    set: (key, value) => {
      did.push(`set ${key}`);
      state[key] = value;
      tell(`change:${key}`);
    },
    save_changes: () => did.push("save"),
    send: (what) => did.push(what),
    on: (event, listener) => listening.push([event, listener]),
    off: (event, listener) =>
      listening.splice(listening.findIndex(([heard, other]) => heard === event && other === listener), 1),
  };
  state.shown = Object.keys(state);
  const el = document.body.appendChild(document.createElement("div"));
  return { el, state, model, listening, did, tell, end: attnExplorables[name].render({ model, el }) };
}"""


def in_notebook(page, figure, code, *given):
    """Draw a figure as a notebook does, whose model notes what is done with it; run a function of both in the page."""
    call = f"([name, state, ...given]) => ({code})(({NOTEBOOK})(name, state), ...given)"
    return page.evaluate(call, [figure._name, figure.state(), *given])
