// Finds and makes elements. Data become text, never markup.

import { shorten, tellApart } from "./words.js";

const COLOURS = 8; // of classes, in tokens.css

/**
 * The element with an id, of a kind: $("search", HTMLInputElement).
 *
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function $(id, kind) {
  const found = document.getElementById(id);
  if (found === null || (kind && !(found instanceof kind))) throw new Error(`The page has no such element: ${id}.`);
  return /** @type {T} */ (found);
}

/**
 * All elements that match a selector, within the page or a part of it.
 *
 * @param {string} selector
 * @param {ParentNode} [part]
 * @returns {HTMLElement[]}
 */
export const all = (selector, part = document) => [...part.querySelectorAll(selector)].filter((one) => one instanceof HTMLElement);

/**
 * The element around the target of an event that matches a selector.
 *
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export const around = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);

/**
 * Make an element: make("p", { class: "soft" }, "text", child).
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null>} [attributes]
 * @param {(Node | string | null)[]} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** @param {string | null} text */
export const name = (text) => {
  if (text === null) return make("span", { class: "missing" }, "no label");
  const shown = shorten(text);
  return make("bdi", { title: shown === text ? null : text }, shown);
};

/** @type {Map<string, { place: number, mark: string }>} */
const looks = new Map(); // of the classes

/** @param {string[]} classes @param {string[]} marks a letter of each */
export function setClasses(classes, marks) {
  classes.forEach((label, place) => looks.set(label, { place, mark: marks[place] }));
  tellApart(classes);
}

/** The number of a class's colour; null for anything else. */
export const colourOf = (/** @type {string | null} */ label) => {
  const place = label === null ? undefined : looks.get(label)?.place;
  return place === undefined ? null : place % COLOURS;
};

/** The colour and the letter of a class, wherever its name stands. */
export function badge(/** @type {string | null} */ label) {
  const look = label === null ? undefined : looks.get(label);
  if (look === undefined) return null;
  const shape = Math.floor(look.place / COLOURS) % 2 ? "badge round" : "badge";
  return make("span", { class: shape, "data-class": look.place % COLOURS, "data-mark": look.mark, "aria-hidden": "true" });
}

/** A label with its colour. */
export const makeLabel = (/** @type {string | null} */ label, kind = "") =>
  make("span", { class: `label-of ${kind}`.trim() }, badge(label), name(label));

const NUMBER = /^\s*[-+−]?(\d[\d,]*)?\.?\d+(e[-+]?\d+)?\s*%?\s*$/i;

/**
 * A value of the table, which can be followed if it is an address on the web, and nothing else.
 *
 * @param {string} text
 */
export function makeValue(text) {
  if (text === "") return make("span", { class: "value missing" }, "empty");
  const value = make("bdi", { class: NUMBER.test(text) ? "value number" : "value" }, text);
  const isLink = /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
  return isLink ? make("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, value) : value;
}

/**
 * @param {HTMLSelectElement} select
 * @param {string[][]} texts value and text of each option
 * @param {string | null} [first] text of an option without a value
 */
export function fillSelect(select, texts, first = null) {
  const options = texts.map(([value, text]) => make("option", { value }, text));
  select.replaceChildren(...(first === null ? [] : [make("option", { value: "" }, first)]), ...options);
}
