// Which key does what.

import { isAsking } from "./dialogs.js";
import { $, around } from "./elements.js";
import { openMedia } from "./media.js";

const REPEATED = new Set(["j", "k", "arrowdown", "arrowup", " ", "pagedown", "pageup"]); // the others act once while held down
const PRESSED = "button, summary, a, audio"; // Enter and Space press these

/** @param {MouseEvent | KeyboardEvent} event */
export const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
export const openHelp = () => $("help-dialog", HTMLDialogElement).showModal();

/**
 * The name of a key: Caps Lock makes no difference, and digits are found where a keyboard needs Shift for them.
 *
 * @param {KeyboardEvent} event
 */
export function nameKey({ key, code, shiftKey }) {
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  return digit && !shiftKey ? digit : key.toLowerCase();
}

/** @param {import("./controls.js").Actions} actions */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (isAsking() || event.isComposing) return;
    if (around(event, "input, select, textarea")) return leaveField(event, actions);
    const act = findAct(event, actions);
    if (act === null) return;
    event.preventDefault();
    if (!event.repeat || REPEATED.has(nameKey(event))) act();
  });
}

/**
 * @param {KeyboardEvent} event
 * @param {import("./controls.js").Actions} actions
 */
function leaveField(event, { closeNote }) {
  const isNote = around(event, "#note-text") !== null;
  if (event.key !== "Escape" && !(isNote && event.key === "Enter" && !event.shiftKey)) return;
  event.preventDefault();
  if (isNote) closeNote();
  else if (event.target instanceof HTMLElement) event.target.blur();
}

/**
 * @param {KeyboardEvent} event
 * @param {import("./controls.js").Actions} actions
 * @returns {(() => unknown) | null}
 */
function findAct(event, actions) {
  const { decide, undo, redo, step, scrollRow } = actions;
  const key = nameKey(event);
  if ((event.ctrlKey || event.metaKey) && !event.altKey) {
    if (key === "z") return event.shiftKey ? redo : undo;
    return key === "y" && !event.shiftKey ? redo : null;
  }
  if (!isPlain(event)) return null;
  if (event.shiftKey && /^[a-z]$/.test(key)) return key === "u" ? redo : null;
  const isOnLine = around(event, "#lines") !== null;
  if (key === "enter") return isOnButton(event) ? null : () => decide("accept");
  if (key === " " && around(event, PRESSED) && !isOnLine) return null;
  if (key.startsWith("arrow") && around(event, "audio")) return null; // it winds
  if (/^\d$/.test(key)) return () => actions.giveNumber(Number(key));
  /** @type {Record<string, () => unknown>} */
  const acts = {
    a: () => decide("accept"),
    g: () => decide("keep"),
    x: () => decide("drop"),
    s: () => decide("skip"),
    l: actions.giveOtherLabel,
    n: actions.openNote,
    w: actions.unfoldWitnesses,
    p: openMedia,
    u: undo,
    j: () => step(1),
    k: () => step(-1),
    arrowdown: () => step(1),
    arrowup: () => step(-1),
    " ": () => scrollRow(event.shiftKey ? -1 : 1),
    pagedown: () => scrollRow(1),
    pageup: () => scrollRow(-1),
    "/": actions.search,
    "?": openHelp,
    escape: actions.escape,
  };
  return Object.hasOwn(acts, key) ? acts[key] : null;
}

/** Whether Enter presses a button; the line of the chosen row is none, there it confirms the suggestion. */
const isOnButton = (/** @type {KeyboardEvent} */ event) => around(event, PRESSED) !== null && around(event, "[aria-current]") === null;
