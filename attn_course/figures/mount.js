// Brings the explorables of a page without a kernel to life; stands in for the model that a notebook would give them.

import * as shared from "./common.js";
import { element } from "./common.js";

function standInModel(state) {
  const listeners = {};
  return {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
      (listeners[name] ?? []).forEach((listener) => listener());
    },
    on: (event, listener) => (listeners[event.slice("change:".length)] ??= []).push(listener),
    save_changes: () => {},
  };
}

// By the contents at the side of each page, which a telephone has, if hidden; the link of the present page leads nowhere.
const addressOf = (chapter) => document.querySelector(`.bd-links a[href*="${String(chapter).padStart(2, "0")}_"]`)?.href;

// Run another script that lies beside this one.
const here = document.currentScript.src;
const load = (name) => new Promise((resolve, reject) => {
  document.head.append(element("script", { src: new URL(name, here), onload: resolve, onerror: reject }));
});

window.attnExplorables = Object.fromEntries(
  Object.entries(window.attnExplorables ?? {}).map(([name, make]) => [name, make(shared)]));

document.querySelectorAll("[data-explorable]").forEach((el) => {
  const state = JSON.parse(el.querySelector("script").textContent);
  window.attnExplorables[el.dataset.explorable].render({ model: standInModel({ ...state, shown: Object.keys(state) }), el, addressOf, load });
});
