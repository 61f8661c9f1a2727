"""What a figure shows, as JavaScript reads it from its page, and as tests/looks/ keeps it: one fact a line."""

import json
import zlib
from functools import partial

MOST = 4  # of a list with more, the first is kept, and of the others a sum, which tells whether one has changed
# Places and shades are rounded, so that they can be compared like words.
LOOK = """(root) => {
  const rounded = (number) => Math.round(number * 1e3) / 1e3;
  const text = (node) => node.textContent;
  const list = (within, selector, one) => [...within.querySelectorAll(selector)].map(one);
  const label = (input) => text(input.labels[0].querySelector("span"));
  const number = (node, name) => rounded(Number(node.getAttribute(name)));
  const pressed = (node) => node.getAttribute("aria-pressed") === "true";
  const CELLS = "rect:not(.attn-target, .attn-ground)";
  const tenths = (value) => value.replace(/-?[\\d.]+/g, (found) => Math.round(Number(found) * 10) / 10);
  const look = {
    name: root.getAttribute("aria-label"),
    says: list(root, ".attn-detail, .attn-outcome, .attn-step-title, .attn-step-text", text),
    titles: list(root, "legend, caption, .attn-caption, p.attn-head", text),
    chosen: list(root, "input:checked", label).concat(list(root, "option:checked", text)),
    sliders: list(root, "input[type=range]", (input) => [label(input), Number(input.value),
      input.getAttribute("aria-valuetext"), text(input.labels[0].querySelector("output"))]),
    fields: list(root, "input[type=number], input[type=text], textarea", (input) => [label(input), input.value]),
    problems: list(root, ".attn-problem", text).filter((problem) => problem),
    bars: list(root, ".attn-bar", (bar) => {
      const front = bar.previousElementSibling;
      return [text(front.querySelector("span") ?? front), text(bar.nextElementSibling)];
    }),
    tables: list(root, "table", (table) => ({
      columns: list(table, "thead th", text),
      rows: list(table, "tbody th", text),
      cells: [...table.tBodies[0].rows].map((row) => list(row, "td > *, td:not(:has(*))", text).join(" | ")),
      names: list(table, "button[aria-label]", (cell) => cell.getAttribute("aria-label")),
    })),
    hidden: list(root, "[hidden]", text),
    pressed: list(root, "[aria-pressed=true]", (node) => node.getAttribute("aria-label") ?? text(node)),
    right: list(root, ".attn-right", text),
    disabled: list(root, "button:disabled", text),
    explained: list(root, ".attn-why:not(.attn-outcome)", text),
    read: list(root, ".attn-token", (node) =>
      text(node) + (pressed(node) ? " *" : "") + (node.classList.contains("attn-later") ? " later" : "")),
    handles: list(root, ".attn-handle", (node) =>
      [node.getAttribute("aria-label"), node.getAttribute("aria-valuetext")]),
    scenes: list(root, ".attn-scene", (scene) => ({
      name: scene.getAttribute("aria-label"), texts: list(scene, "text", text).filter((words) => words),
    })),
    outlook: list(root, ".attn-outlook", (bar) => bar).filter((bar) => bar.style.opacity === "1")
      .map((bar) => [...list(bar, "text", text), number(bar.querySelector(".attn-ghost"), "width")]),
    was: root.querySelectorAll(".attn-ghosts > *").length,
    drawn: {
      shapes: list(root, ".attn-scene :is(line, rect, circle, path, polyline, polygon, text), .attn-curve, .attn-look",
        (node) => ["class", "x1", "y1", "x2", "y2", "x", "y", "width", "height", "cx", "cy", "r", "d", "points",
          "transform", "visibility", "fill-opacity"].flatMap((name) => node.getAttribute(name) ?? []).map(tenths)),
      shades: list(root, "[style*=--attn-w]", ({ style }) => rounded(style.getPropertyValue("--attn-w"))),
      below: list(root, ".attn-minus", (node) => node.className),
      strips: list(root, ".attn-now", (strip) => [
        strip.getAttribute("aria-label"), strip.style.getPropertyValue("--attn-size"),
        ...list(strip, CELLS, ({ style }) => [style.fill, Math.round(100 * style.fillOpacity)])]),
      lights: list(root, ".attn-vector .attn-lit", ({ parentNode }) => parentNode.getAttribute("aria-label")),
      ribbons: list(root, ".attn-ribbon, .attn-thread.attn-passed", ({ style }) =>
        [rounded(style.opacity), rounded(parseFloat(style.strokeWidth)), style.stroke]),
      dots: list(root, ".attn-dot", (dot) => [dot.style.fill, number(dot, "r")]),
    },
  };
  const filled = (part) => Object.fromEntries(Object.entries(part).filter(([name, value]) =>
    name === "drawn" || value.length || value > 0));
  if (look.tables) look.tables = look.tables.map(filled);
  return filled(look);
}"""


def checksum(part):
    return f"{zlib.crc32(json.dumps(part).encode()):08x}"


def facts(part, where=""):
    """Yield what a look says: pairs of a place in it and what stands there, and of what is drawn a sum."""
    if where == "drawn":
        yield where, checksum(part)
    elif isinstance(part, dict):
        for name, inner in part.items():
            yield from facts(inner, f"{where}.{name}" if where else name)
    elif isinstance(part, list):
        shown = part if len(part) <= MOST else [part[0], f"and {len(part) - 1} more: {checksum(part[1:])}"]
        if all(len(str(one)) < 45 and not isinstance(one, list | dict) for one in shown):
            yield where, shown
        else:
            for number, inner in enumerate(shown):
                yield from facts(inner, f"{where}.{number}")
    else:
        yield where, part


def changes(looks):
    """Return of each look only the facts that differ from the one before it; what is no longer there is None."""
    told, before = {}, {}
    for move, look in looks.items():
        now = dict(facts(look))
        told[move] = {where: now.get(where) for where in {**before, **now} if now.get(where) != before.get(where)}
        before = now
    return told


def written(looks):
    """Return the facts of looks by move as JSON, a line for each."""
    write = partial(json.dumps, ensure_ascii=False)
    told = {
        move: ",\n".join(f"  {write(where)}: {write(fact)}" for where, fact in found.items())
        for move, found in looks.items()
    }
    return "{\n" + ",\n".join(f" {write(move)}: {{\n{lines}\n }}" for move, lines in told.items()) + "\n}\n"
