// Finds and makes elements. Data become text, never markup.

import { shorten } from "./words.js";

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
  return make("bdi", { title: text.length > 60 ? text : null }, shorten(text));
};

/**
 * A value of the table, which can be followed if it is an address on the web, and nothing else.
 *
 * @param {string} text
 */
export function makeValue(text) {
  if (text === "") return make("span", { class: "value missing" }, "empty");
  const value = make("bdi", { class: "value" }, text);
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
