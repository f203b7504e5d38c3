// The labels to choose from: buttons with the keys 1 to 9; of more, the others are in a list, which takes keys only while
// it is open. Labels that are digits are their own keys, as whoever reads "0" presses 0; then only c is "cannot tell".

import { isAsking } from "./dialogs.js";
import { $, all, around, badge, make, name } from "./elements.js";
import { isPlain, nameKey, openHelp } from "./keys.js";
import { openMedia } from "./media.js";
import { count } from "./words.js";

const KEYS = 9; // as many labels have a key
const MOST = 200; // labels in the list at once

/** @type {string[]} */
let classes = [];
/** @type {(label: string | null) => void} */
let answer = () => {};
/** @type {string[]} */
let found = []; // labels in the list
let active = -1; // number of the chosen one

const isList = () => classes.length > KEYS && !areDigits();
const areDigits = () => classes.every((label) => /^\d$/.test(label));

/**
 * Offer labels.
 *
 * @param {string[]} labels
 * @param {(label: string | null) => unknown} take called with the answer, null for "cannot tell"
 */
export function offer(labels, take) {
  [classes, answer] = [labels, take];
  for (const part of all(".many")) part.hidden = !isList();
  $("open-search").hidden = !isList();
  $("untold").onclick = () => answer(null);
  $("untold").setAttribute("aria-keyshortcuts", areDigits() ? "c" : "0 c");
  $("untold").lastElementChild?.replaceChildren(areDigits() ? "c" : "0");
  $("first-key").textContent = areDigits() ? "0" : "1";
  $("zero").hidden = areDigits();
  const isNamedSo = classes.some((label) => label.trim().toLowerCase() === "cannot tell");
  if (isNamedSo) $("untold").firstElementChild?.append(" (which is not the label of this name)");
  if (isList()) listenToSearch();
  $("buttons").replaceChildren(...(isList() ? classes.slice(0, KEYS) : classes).map(makeButton));
  document.addEventListener("keydown", listenToKeys);
}

/**
 * @param {string} label
 * @param {number} place
 */
function makeButton(label, place) {
  const key = areDigits() ? label : place + 1;
  const button = make("button", { type: "button", "aria-keyshortcuts": key }, badge(label), name(label), makeKey(label));
  button.onclick = () => answer(label);
  return button;
}

/**
 * The key of a label, if it is one of the first: the same whatever is searched for.
 *
 * @param {string} label
 */
function makeKey(label) {
  const place = classes.indexOf(label);
  return areDigits() || place < KEYS ? make("kbd", {}, areDigits() ? label : `${place + 1}`) : null;
}

/** Show the buttons again, for the next question. */
export const reset = () => openSearch(false);

/** Open the list of all labels, or close it: then the keys are those of the page again. */
function openSearch(isOpen = true) {
  if (!isList()) return;
  $("finder").hidden = !isOpen;
  $("answers").classList.toggle("searching", isOpen);
  $("open-search").setAttribute("aria-expanded", String(isOpen));
  $("search", HTMLInputElement).value = "";
  if (!isOpen) return;
  search();
  $("search").focus();
}

/** @param {KeyboardEvent} event */
function listenToKeys(event) {
  if (isAsking() || !isPlain(event) || around(event, "input")) return;
  const act = findAct(nameKey(event));
  if (!act) return;
  event.preventDefault();
  if (!event.repeat) act(); // a key that is held down answers once
}

/**
 * @param {string} key
 * @returns {(() => unknown) | null}
 */
function findAct(key) {
  if (key === "c" || (key === "0" && !areDigits())) return () => answer(null);
  if (key === "?") return openHelp;
  if (key === "p") return openMedia;
  if (key === "/" && isList()) return openSearch;
  const place = areDigits() ? classes.indexOf(key) : Number(key) - 1;
  const label = /^\d$/.test(key) ? classes[place] : undefined;
  return label === undefined ? null : () => answer(label);
}

// The list

function listenToSearch() {
  $("search").oninput = search;
  $("search").onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Escape") leave();
    else if (event.key === "Enter" && !event.repeat && found[active] !== undefined) answer(found[active]);
    else return;
    event.preventDefault();
  };
  $("found").onclick = (event) => {
    const place = around(event, "[role=option]")?.dataset.place;
    if (place !== undefined) answer(found[Number(place)]);
  };
  $("open-search").onclick = () => openSearch();
}

function leave() {
  reset();
  $("question").focus({ preventScroll: true });
}

function search() {
  const text = $("search", HTMLInputElement).value.trim().toLowerCase();
  const matches = classes.filter((label) => label.toLowerCase().includes(text));
  const isExact = (/** @type {string} */ label) => label.toLowerCase() === text;
  found = [...matches.filter(isExact), ...matches.filter((label) => !isExact(label))].slice(0, MOST);
  active = text && found.length ? 0 : -1; // nothing is chosen before something is typed
  const lines = found.map((label, place) =>
    make("li", { role: "option", id: `label-${place}`, "data-place": place, "aria-selected": "false" }, badge(label), name(label)));
  const left = matches.length - found.length;
  $("left").textContent = matches.length ? (left ? `and ${count(left)} more: type to narrow the list` : "") : "No label has this text.";
  $("found").hidden = !matches.length;
  $("found").replaceChildren(...lines);
  $("found").scrollTop = 0;
  mark();
}

/** @param {number} by */
function move(by) {
  if (!found.length) return;
  active = active < 0 && by < 0 ? found.length - 1 : (active + by + found.length) % found.length;
  mark();
}

function mark() {
  for (const line of all("[role=option]", $("found"))) {
    const isActive = Number(line.dataset.place) === active;
    line.setAttribute("aria-selected", String(isActive));
    if (isActive) line.scrollIntoView({ block: "nearest" });
  }
  if (active < 0) $("search").removeAttribute("aria-activedescendant");
  else $("search").setAttribute("aria-activedescendant", `label-${active}`);
}
