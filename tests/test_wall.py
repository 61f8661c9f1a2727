"""The wall of heads while its sentences are on the way."""

from attn_course.figures import HeadsWall
from attn_course.measured import read_measured


def test_of_two_sentences_that_are_chosen_the_wall_shows_the_last(unloaded):
    page = unloaded(HeadsWall(read_measured("smollm2_wall")))
    page.evaluate("""() => {
      const select = document.querySelector("select");
      for (const value of [2, 0]) {
        select.value = value;
        select.dispatchEvent(new Event("change"));
      }
    }""")
    page.wait_for_function("window.attnWall")
    page.evaluate("() => new Promise((next) => setTimeout(next, 300))")
    assert page.locator("select").first.input_value() == "0"
    words = page.locator(".attn-sentence label").all_inner_texts()
    assert [word.strip() for word in words] == [
        one.strip() for one in read_measured("smollm2_wall")["runs"][0]["tokens"]
    ]


def test_the_row_of_a_word_that_is_pointed_at_stands_out_in_all_windows(blank):
    page = blank(HeadsWall(read_measured("smollm2_wall")))
    dark = """() => [...document.querySelectorAll(".attn-small")].map((picture) =>
      [...new Set(picture.lastElementChild.getAttribute("d").match(/,\\d+/g) ?? [])].join(" "))"""
    before = page.evaluate(dark)
    page.locator(".attn-sentence label").nth(6).hover()
    lit = page.evaluate(dark)
    assert {*lit} == {"", ",6"} and any(rows not in ("", ",6") for rows in before)
    page.mouse.move(0, 0)
    assert page.evaluate(dark) == before
