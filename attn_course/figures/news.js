// The news explorer: how much of a change of the first word arrives at the last one, which the reader drags along the
// line. Above it, a recurrent network hands the news on and loses a share at each word; below, attention takes it in one
// jump, and the words between only compete for the weight.

import {
  box, button, drawing, figure, format, grouped, handle, movingScene, put, sceneWidth, slider, tween,
} from "./common.js";

const FARTHEST = 40;

function arrive({ keeps, score, distance }) {
  return { notes: Array.from({ length: distance + 1 }, (_, t) => keeps ** t), jump: 1 / (1 + distance * Math.exp(-score)) };
}

function shareInWords(share) {
  if (share >= 0.001) return format(share, 3);
  return share < 1e-9 ? "next to nothing" : `1 part in ${grouped(Math.round(1 / share))}`;
}

function build({ read, change, reset, line, tell, draw }) {
  const wide = sceneWidth(), long = wide - 100, level = 126, tall = 70; // beside the last place, a name
  const across = (t) => 20 + (long * t) / FARTHEST;
  const text = (y, className, anchor = "start") => drawing("text", { x: 4, y, class: className, "text-anchor": anchor });
  const [above, below, last] = [text(20, "attn-quiet"), text(level + 138, "attn-quiet"), text(level + 28, "attn-plane-label")];
  last.textContent = "last word";
  const bar = (className) => drawing("rect", { width: wide / FARTHEST / 2, class: className });
  const words = Array.from({ length: FARTHEST + 1 }, (_, t) => drawing("circle", { cx: across(t), cy: level, r: 2.5 }));
  const notes = words.map(() => bar("attn-note"));
  const arc = drawing("path", { class: "attn-arc" }), taken = bar("attn-share");
  const old = [bar("attn-note attn-ghost"), bar("attn-share attn-ghost")];
  const go = (distance) => change({ distance: Math.max(1, Math.min(FARTHEST, distance)) });
  const end = handle({
    label: "place of the last word",
    onMove: ([x]) => go(Math.round(((x - 20) * FARTHEST) / long)),
    onStep: ([right, up]) => go(read().distance + right + up),
  }, drawing("circle", { r: 9, class: "attn-knob" }));
  put(end.group, { "aria-valuemin": 1, "aria-valuemax": FARTHEST });
  const scene = movingScene(`0 0 ${wide} ${level + 146}`,
    "A line of words; above it what is left of the news at each word, below it a jump over all of them",
    ...old, ...notes, arc, taken, ...words, drawing("text", { x: 12, y: level - tall - 18, class: "attn-plane-label" }, "clue"),
    last, above, below, end.group);
  const keeps = slider({ label: "kept at each word", min: 0, max: 1, onInput: (number) => change({ keeps: number }) });
  const score = slider({
    label: "score of the clue", min: 0, max: 12, step: 0.5, onInput: (number) => change({ score: number }),
  });
  // Show the news on its way, so many words along; attention needs the time of one.
  const show = (state, along = state.distance) => {
    const { notes: shares, jump } = arrive(state), reach = across(state.distance), there = Math.min(1, along);
    notes.forEach((note, t) => {
      const high = t <= along ? tall * shares[t] : 0;
      put(note, { x: across(t) - wide / FARTHEST / 4, y: level - 12 - high, height: high });
    });
    put(arc, { d: `M${across(0)},${level + 10}Q${(across(0) + reach) / 2},${level + 150},${reach},${level + 10}`,
      "stroke-width": 1 + 9 * jump, opacity: 0.2 + 0.6 * jump, pathLength: 1, "stroke-dasharray": `${there} 2` });
    put(taken, { x: reach - wide / FARTHEST / 4, y: level + 44, height: there < 1 ? 0 : tall * jump });
  };
  let run = 0;
  const play = button("attn-button", "▶ Send the news", () => {
    const state = read(), mine = ++run;
    tween(0, state.distance, (along) => mine === run && show(state, along), 150 * state.distance);
  });
  draw(scene, box("attn-knobs", keeps.row, score.row), line, box("attn-controls", play, reset));

  return (state, before) => {
    run++; // what is still on its way has another goal now
    const { notes: shares, jump } = arrive(state), left = shares.at(-1);
    show(state);
    end.set([across(state.distance), level], state.distance, `${state.distance} ${state.distance === 1 ? "word" : "words"} after the clue`);
    put(last, { x: across(state.distance) + 12 });
    words.forEach((word, t) => put(word, { class: t > state.distance ? "attn-beyond" : "attn-place" }));
    const past = before && arrive(before);
    [past?.notes.at(-1), past?.jump].forEach((share = 0, i) => put(old[i], {
      x: across((before ?? state).distance) - wide / FARTHEST / 4, y: i ? level + 44 : level - 12 - tall * share,
      height: tall * share,
    }));
    keeps.set(state.keeps);
    score.set(state.score);
    above.textContent = `word by word: ${shareInWords(left)} arrives`;
    below.textContent = `attention, in one jump: ${shareInWords(jump)} arrives`;
    tell(`The last word stands ${state.distance} after the clue. Handed on ${state.distance === 1 ? "once" : `${state.distance} times`}, with ${format(state.keeps)} `
      + `kept each time, ${shareInWords(left)} of the news arrives; attention gives the clue a weight of ${format(jump, 3)}.`);
  };
}

const render = figure({ label: "News explorer", build });

export default { render, arrive };
