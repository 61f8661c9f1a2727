"""What a figure shows, as JavaScript reads it from its page, and as tests/looks/ keeps it."""

# Places in a plane and shades are rounded, so that they can be compared like words.
LOOK = """(root) => {
  const rounded = (number) => Math.round(number * 1e3) / 1e3;
  const text = (node) => node.textContent;
  const list = (within, selector, one) => [...within.querySelectorAll(selector)].map(one);
  const label = (input) => text(input.labels[0].querySelector("span"));
  const shade = (node) => rounded(Number(node.style.getPropertyValue("--attn-w")));
  const number = (node, name) => rounded(Number(node.getAttribute(name)));
  const pressed = (node) => node.getAttribute("aria-pressed") === "true";
  const CELLS = "rect:not(.attn-target, .attn-ground)";
  const minus = (node) => (node.style.fill.includes("minus") ? "−" : "");
  const inPlane = (x, y) => [(x - 160) / (320 / 6), (160 - y) / (320 / 6)].map(rounded);
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
      return [text(front.querySelector("span") ?? front), text(bar.nextElementSibling), shade(bar)];
    }),
    tables: list(root, "table", (table) => ({
      columns: list(table, "thead th", text),
      rows: list(table, "tbody th", text),
      cells: [...table.tBodies[0].rows].map((row) => list(row, "td > *, td:not(:has(*))", text).join(" | ")),
      shades: [...table.tBodies[0].rows].map((row) => list(row, "td > *", shade)),
      names: list(table, "button[aria-label]", (cell) => cell.getAttribute("aria-label")),
      chosen: list(table, ".attn-chosen th", text),
      minus: table.querySelectorAll(".attn-minus").length,
      lit: list(table, ".attn-lit", text),
    })),
    hidden: list(root, "[hidden]", text),
    pressed: list(root, "[aria-pressed=true]", (node) => node.getAttribute("aria-label") ?? text(node)),
    right: list(root, ".attn-right", text),
    disabled: list(root, "button:disabled", text),
    explained: list(root, ".attn-why", text),
    read: list(root, ".attn-token", (node) =>
      text(node) + (pressed(node) ? " *" : "") + (node.classList.contains("attn-later") ? " later" : "")),
    shares: list(root, ".attn-token", shade),
    heights: list(root, ".attn-look", (path) => [...path.getAttribute("d").matchAll(/v(-[\\d.]+)h/g)]
      .map(([, up]) => Math.round(-Number(up)))).filter((heights) => heights.length),
    plane: list(root, ".attn-plane", (plane) => ({
      name: plane.getAttribute("aria-label"),
      labels: list(plane, "text:not(.attn-tick)", text),
      ticks: list(plane, ".attn-tick", (node) => [text(node), number(node, "x"), number(node, "y")]),
      points: list(plane, "circle", (point) =>
        [...inPlane(number(point, "cx"), number(point, "cy")), number(point, "r")]),
      arrows: list(plane, "g", (arrow) => {
        const [shaft, tip] = arrow.children;
        const { e, f, a, b } = tip.transform.baseVal.consolidate().matrix;
        const ends = [["x1", "y1"], ["x2", "y2"]].map(([x, y]) => inPlane(number(shaft, x), number(shaft, y)));
        return [arrow.getAttribute("visibility"), ...ends, inPlane(e, f), [a, -b].map(rounded)];
      }),
    })),
    curves: list(root, ".attn-curve", (path) => path.getAttribute("d")),
    curveTicks: list(root, ".attn-curves .attn-tick", (node) => [text(node), number(node, "x")]),
    curveLabels: list(root, ".attn-curves .attn-plane-label", (node) =>
      [text(node), number(node, "y"), node.getAttribute("visibility")]),
    handles: list(root, ".attn-handle", (node) =>
      [node.getAttribute("aria-label"), node.getAttribute("aria-valuetext")]),
    scenes: list(root, ".attn-scene", (scene) => ({
      name: scene.getAttribute("aria-label"),
      texts: list(scene, "text", (node) => [text(node), number(node, "x"), number(node, "y")]),
      shapes: list(scene, "line, rect, circle, path, polyline, polygon", (node) => [node.getAttribute("class"),
        ...["x1", "y1", "x2", "y2", "x", "y", "width", "height", "cx", "cy", "r", "d", "points", "transform"]
          .concat("visibility", "fill-opacity").flatMap((name) => node.getAttribute(name) ?? []).map(tenths)
          .map((value) => (value.length > 999 ? value.slice(0, 99) : value))].join(" ")),
    })),
    strips: list(root, ".attn-now", (strip) => [strip.getAttribute("aria-label"),
      list(strip, CELLS, (cell) => minus(cell) + Math.round(100 * cell.style.fillOpacity)).join(" "),
      rounded(strip.style.getPropertyValue("--attn-size"))]),
    lights: list(root, ".attn-vector:has(.attn-lit)", (strip) => [strip.getAttribute("aria-label"),
      list(strip, CELLS, (cell, j) => (cell.classList.contains("attn-lit") ? j : "")).join(" ").trim()]),
    ribbons: list(root, ".attn-ribbon", ({ style }) => style).filter(({ opacity }) => opacity > 0.5)
      .map(({ strokeWidth, stroke }) => [rounded(parseFloat(strokeWidth)), stroke]).filter(([width]) => width > 0),
    dots: list(root, ".attn-dot", (dot) => minus(dot) + number(dot, "r")).filter((r) => !/^−?0$/.test(r)),
    threads: list(root, ".attn-thread.attn-passed", (line) => rounded(parseFloat(line.style.strokeWidth))),
    outlook: list(root, ".attn-outlook", (bar) => bar).filter((bar) => bar.style.opacity === "1")
      .map((bar) => [...list(bar, "text", text), number(bar.querySelector(".attn-ghost"), "width")]),
    was: root.querySelectorAll(".attn-ghosts > *").length,
    cursor: list(root, ".attn-cursor", (line) => [number(line, "x1"), number(line, "x2")]),
  };
  const filled = (part) => Object.fromEntries(Object.entries(part).filter(([, value]) => value.length || value > 0));
  if (look.tables) look.tables = look.tables.map(filled);
  return filled(look);
}"""


def changes(looks):
    """Return of each look only what differs from the one before it; what is no longer there is None."""
    told, before = {}, {}
    for move, look in looks.items():
        told[move] = {part: look.get(part) for part in {**before, **look} if look.get(part) != before.get(part)}
        before = look
    return told
