// What can be decided about the chosen row: classes as buttons with the keys 1 to 9, and a note. Labels that are digits are
// their own keys, as whoever reads "0" presses 0.

import { $, all, badge, make, name } from "./elements.js";
import { ownName } from "./dialogs.js";
import { getMeta, state } from "./state.js";

/** @typedef {import("./types.js").Issue} Issue */

const KEYS = 9; // classes with a key
/** @type {Map<number, string>} */
const drafts = new Map(); // notes that are not stored yet, of each row

const areDigits = () => getMeta().classes.every((label) => /^\d$/.test(label));
/** The classes with keys, in their order. */
const listKeys = () => (areDigits() ? getMeta().keys : getMeta().keys.slice(0, KEYS));
export const hasMore = () => listKeys().length < getMeta().classes.length;
/** The label that a key gives, if it gives one. */
export const findLabel = (/** @type {number} */ key) => listKeys().find((label, i) => (areDigits() ? Number(label) : i + 1) === key);

/** Make a button for each class that has a key; they stay in their places whichever row is shown. */
export function makeButtons() {
  $("classes").replaceChildren(...listKeys().map((label, i) => makeButton(label, areDigits() ? Number(label) : i + 1)));
  $("more-labels").hidden = !hasMore();
  $("bar").classList.toggle("many", listKeys().length > 6);
}

/**
 * @param {string} label
 * @param {number | null} key
 */
function makeButton(label, key) {
  const attributes = { type: "button", class: "class", "data-label": label, "aria-keyshortcuts": key };
  return make("button", attributes, key === null ? null : make("kbd", {}, String(key)), badge(label), make("span", { class: "label" }, name(label)), make("span", { class: "role" }));
}

/**
 * Mark the suggested and the given class on their buttons.
 *
 * @param {Issue | null} issue
 * @param {boolean} isOther whether it is another row than before
 */
export function drawBar(issue, isOther) {
  $("bar").classList.toggle("idle", issue === null);
  drawClasses(issue);
  for (const button of all("#bar button")) if (button instanceof HTMLButtonElement) button.disabled = issue === null;
  if (isOther || document.activeElement !== $("note-text")) drawNote(issue); // what is being typed stays
}

/** @param {Issue | null} issue */
function drawClasses(issue) {
  for (const extra of all(".class:not([aria-keyshortcuts])", $("classes"))) extra.remove();
  if (issue === null) return;
  const roles = new Map([[issue.suggested, ["suggested", "a"]]]);
  if (issue.given !== null && issue.given !== issue.suggested) roles.set(issue.given, ["given", "g"]);
  const keys = listKeys();
  const extra = [...roles.keys()].filter((label) => !keys.includes(label)); // of more classes than keys
  $("classes").prepend(...extra.map((label) => makeButton(label, null)));
  for (const button of all(".class", $("classes"))) {
    const [role, key] = roles.get(button.dataset.label ?? "") ?? ["", ""];
    const isBest = role === "suggested" && issue.probability > 1 - (issue.expected ?? 1);
    button.classList.toggle("first", isBest);
    button.classList.toggle("strong", isBest && issue.probability > 0.5);
    if (button.dataset.label === issue.decision?.label) button.setAttribute("aria-pressed", "true");
    else button.removeAttribute("aria-pressed");
    if ((button.dataset.role ?? "") === role) continue; // most stay as they are
    button.dataset.role = role;
    button.classList.toggle("as-given", role === "given");
    const words = role ? [`${role} `, make("kbd", {}, key)] : [];
    button.querySelector(".role")?.replaceChildren(...words);
  }
}

// The note

/** @param {Issue | null} issue */
function drawNote(issue) {
  const field = $("note-text", HTMLTextAreaElement);
  const own = issue?.decision?.who === ownName() ? issue.decision.note : null;
  field.value = (issue && drafts.get(issue.row)) ?? own ?? "";
  $("note-field").hidden = field.value === "";
}

export function openNote() {
  if (state.issue === null) return;
  $("note-field").hidden = false;
  $("note-text").focus();
}

export function closeNote() {
  const field = $("note-text", HTMLTextAreaElement);
  field.blur();
  if (field.value.trim() === "") $("note-field").hidden = true;
}

/** Keep what is being typed, also if another row is looked at before this one is decided. */
export function keepDraft() {
  if (state.issue) drafts.set(state.issue.row, $("note-text", HTMLTextAreaElement).value);
}

/** The note to store with a decision on the chosen row. */
export const readNote = () => $("note-text", HTMLTextAreaElement).value.trim();
export const dropDraft = (/** @type {number} */ row) => void drafts.delete(row);
export const restoreDraft = (/** @type {number} */ row, /** @type {string} */ note) => void (note && drafts.set(row, note));
