// Dialogs that ask for a name, for a label, for confirmation before many rows are decided, and which decisions to keep.

import { $, all, fillSelect } from "./elements.js";
import { makeShort } from "./issue_view.js";
import { isSudden, noteSudden } from "./state.js";
import { count, plural, shorten, formatChoice, formatDecision, formatFilter, formatNames } from "./words.js";

/** @typedef {import("./types.js").Choice} Choice */
/** @typedef {import("./types.js").Verdict} Verdict */

const NAME = "subsvms.name"; // where the browser keeps it

export const ownName = () => localStorage.getItem(NAME) ?? "";
export const isAsking = () => document.querySelector("dialog[open]") !== null;

/**
 * Open a dialog; return which button closed it: "yes" for the form's, "" if it was cancelled.
 *
 * @param {string} id
 * @returns {Promise<string>}
 */
function choose(id) {
  const dialog = $(id, HTMLDialogElement);
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.onclose = () => resolve(dialog.returnValue);
    dialog.showModal();
  });
}

/** Let the buttons and forms of dialogs close them. */
export function listenToDialogs() {
  for (const button of all("[data-close]")) button.onclick = () => isSudden() || button.closest("dialog")?.close(button.dataset.close);
  for (const dialog of all("dialog")) dialog.addEventListener("cancel", (event) => isSudden() && event.preventDefault());
  for (const form of all("dialog form")) {
    form.onsubmit = (event) => {
      event.preventDefault();
      form.closest("dialog")?.close("yes");
    };
  }
}

/** Open a dialog; return true if it was confirmed. */
const ask = async (/** @type {string} */ id) => (await choose(id)) === "yes";

export async function askName() {
  const field = $("name", HTMLInputElement);
  field.value = ownName();
  if (!(await ask("name-dialog"))) return "";
  localStorage.setItem(NAME, field.value.trim());
  return ownName();
}

/**
 * Ask for a label, of which there are more than keys.
 *
 * @param {string[]} classes
 * @returns {Promise<string | null>}
 */
export async function askLabel(classes) {
  const [field, select] = [$("label-search", HTMLInputElement), $("label", HTMLSelectElement)];
  const search = () => {
    const text = field.value.trim().toLowerCase();
    const found = classes.filter((label) => label.toLowerCase().includes(text));
    fillSelect(select, found.map((label) => [label, shorten(label)]));
    select.selectedIndex = 0;
  };
  field.value = "";
  search();
  field.oninput = search;
  field.onkeydown = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    select.selectedIndex = Math.min(select.options.length - 1, Math.max(0, select.selectedIndex + by));
  };
  return (await ask("label-dialog")) && select.value !== "" ? select.value : null;
}

/**
 * Show how many rows are affected and what will happen to them; return the decision, or null.
 *
 * @param {Verdict} verdict
 * @param {number} total
 * @param {Partial<import("./types.js").Filter>} filter
 * @returns {Promise<Choice | null>}
 */
export async function askAll(verdict, total, filter) {
  const rows = plural(total, "row");
  const [title, what, button] = {
    accept: [`Accept ${plural(total, "suggestion")}?`, `${rows} will get the suggested label`, "Accept"],
    keep: [`Keep ${plural(total, "label")} as given?`, `${rows} will keep the label as given`, "Keep"],
    skip: [`Skip ${rows}?`, `${rows} will be marked as skipped and keep their labels for now`, "Skip"],
    drop: [`Leave out ${rows}?`, `${rows} will be left out of the table that subsvms apply writes`, "Leave out"],
    label: [`Give ${rows} one label?`, `${rows} will get the label below`, "Label"],
  }[verdict];
  const narrowed = formatFilter(filter);
  const again = filter.status === "open" ? "" : " Earlier decisions about them are replaced.";
  $("all-title").textContent = title;
  $("all-words").textContent = `${what}: all rows of this list, on every page${narrowed ? ` (${narrowed})` : ""}.${again}`;
  $("all-field").hidden = verdict !== "label";
  $("all-yes").textContent = `${button} all ${count(total)}`;
  if (!(await ask("all-dialog"))) return null;
  return verdict === "label" ? { verdict, label: $("all-label", HTMLSelectElement).value } : { verdict };
}

/**
 * Show a row, and what somebody else decided about it in the meantime; return whether our decision replaces it.
 *
 * @param {import("./types.js").Issue} issue
 * @param {import("./types.js").Decision} theirs
 * @param {Choice} choice
 */
export async function askWhich(issue, theirs, choice) {
  const name = theirs.who === ownName() ? "You, in another tab," : theirs.who;
  $("which-title").textContent = `Row ${count(issue.row)} was decided in the meantime`;
  $("which-words").textContent = `${name} ${formatDecision(theirs)}. You want to ${formatChoice(choice, issue)}.`;
  $("which-row").replaceChildren(...makeShort(issue));
  $("which-cancel").hidden = true;
  noteSudden();
  return (await choose("which-dialog")) === "mine";
}

/**
 * The same for all rows of a filter; return "mine", "theirs", or "" if nothing shall be stored.
 *
 * @param {{ differing: number, names: string[] }} found
 * @param {number} total
 */
export async function askWhichAll({ differing, names }, total) {
  $("which-title").textContent = `${plural(differing, "row")} of ${count(total)} ${differing === 1 ? "was" : "were"} decided in the meantime`;
  $("which-words").textContent = `${formatNames(names)} decided differently since this list was loaded. Keep these decisions and decide the other rows, or replace them?`;
  $("which-row").replaceChildren();
  $("which-cancel").hidden = false;
  noteSudden();
  return choose("which-dialog");
}
