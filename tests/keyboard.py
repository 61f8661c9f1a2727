"""A reader who has a keyboard alone: one who guesses, and one who answers the exercises."""

import json
import re
from types import SimpleNamespace

import numpy as np

from book import execute

MOUNT = re.compile(r'<div data-(explorable="guess"|answer="[a-z0-9-]+")><script type="application/json">(.*?)</script>')


def mounted(path):
    """Return what a chapter asks and what it answers, as its committed outputs tell a page, in order."""
    cells = [cell for cell in execute.read(path).cells if cell.cell_type == "code"]
    texts = [output.data.get("text/html", "") for cell in cells for output in cell.outputs if "data" in output]
    found = [match for text in texts if (match := MOUNT.match(text))]
    asked = [json.loads(match[2]) for match in found if match[1].startswith("explorable")]
    answers = {match[1].split('"')[1]: json.loads(match[2]) for match in found if match[1].startswith("answer")}
    assert [one["id"] for one in asked] == [*answers], "each guess is asked once, and answered before the next"
    return [SimpleNamespace(about=one, choices=one["choices"], right=answers[one["id"]]["right"]) for one in asked]


class Reader:
    """One who guesses, in a page, by the keyboard alone; each guess in turn right and wrong."""

    def __init__(self, page, cells):
        self.page, self.said, self.cells = page, [], cells

    def guess(self):
        """Make all guesses from top to bottom, and note for each whether it was right."""
        boxes = self.page.locator(".attn-guess")
        assert boxes.count() == len(self.cells)
        for number, one in enumerate(self.cells):
            box, wants_right = boxes.nth(number), number % 2 == 0
            right = one.right
            if one.choices:
                choices = [choice.replace("*", "") for choice in one.choices]
                place = (choices.index(right) + (not wants_right)) % len(choices)
                self.press(box.locator(".attn-answer").nth(place), "Enter")
            else:
                slider = box.locator("input")
                slider.focus()
                start, stop = one.about["scale"]
                is_low = abs(right - start) < abs(stop - right)
                self.page.keyboard.press("Home" if is_low == wants_right else "End")
                self.press(box.get_by_role("button", name="That is my guess"), "Enter")
                wants_right = self.is_near(one, start if is_low == wants_right else stop)
            verdict = box.locator(".attn-why").inner_text()
            assert verdict.startswith("You said ") and ("; it is " not in verdict) == wants_right, verdict
            self.said.append(wants_right)

    def press(self, button, key):
        button.focus()
        self.page.keyboard.press(key)

    @staticmethod
    def is_near(one, said):
        """Say whether a guess on a scale counts as right, as the page does."""
        (start, stop), right = one.about["scale"], one.right
        if start > 0:
            return max(said / right, right / said) <= 1.25
        return said == right if one.about["digits"] == 0 else abs(said - right) <= 0.05 * (stop - start)


class Typist:
    """One who answers the exercises of a page by the keyboard alone: Tab, letters, arrows, the space bar, Enter."""

    def __init__(self, page, box):
        self.keys, self.box, self.rule = page.keyboard, box, json.loads(box.get_attribute("data-exercise"))
        self.is_truth = self.rule["kind"] == "truth"

    def answer(self, *, right):
        """Fill in all fields from the first to the last, the last one wrongly unless `right`; return what is said."""
        *values, last = np.ravel(self.rule["right"]).tolist()
        texts = [*map(self.printed, values), self.printed(last) if right else self.wrong(last)]
        self.box.locator("input, .attn-mark").first.focus()
        for i, text in enumerate(texts):
            for key in self.way_to(i):
                self.keys.press(key)
            if self.is_truth:
                self.mark(text, alone=len(texts) == 1)
            else:
                self.keys.press("ControlOrMeta+A")
                self.keys.type(text)
        for key in ["Tab"] * self.is_truth + ["Enter"]:
            self.keys.press(key)
        return self.box.locator(".attn-why").inner_text()

    def way_to(self, i):
        """Return the keys that lead to field i from the one before: in a table of marks, arrows."""
        if i == 0 or not self.is_truth:
            return ["Tab"] * (i > 0)
        columns = self.rule["shape"][-1]
        return ["ArrowRight"] if i % columns else ["ArrowDown"] + ["ArrowLeft"] * (columns - 1)

    def mark(self, text, *, alone):
        if alone:
            for key in [" "] + ["ArrowRight"] * (text == "False"):
                self.keys.press(key)
        elif self.box.page.evaluate("document.activeElement.textContent") != text:
            self.keys.press(" ")

    def printed(self, value):
        """Return a number as the chapter prints it, to as many digits as the exercise asks for; text as it is."""
        room = self.rule.get("room")
        return f"{value:.{round(-np.log10(2 * room))}f}" if room else str(value)

    def wrong(self, value):
        if self.is_truth:
            return str(not value)
        if isinstance(value, str):
            return value[::-1] + "?"
        return self.printed(value + 3 * self.rule["room"] + (value == int(value)))
