// Dialogs that ask for a name, for a label, and for confirmation before all rows are decided.

import { count, plural, formatFilter } from "./words.js";

const $ = (id) => document.getElementById(id);
const NAME = "subsvms.name"; // where the browser keeps it

export const ownName = () => localStorage.getItem(NAME) ?? "";
export const isAsking = () => document.querySelector("dialog[open]") !== null;

/** Open a dialog; return true if it was confirmed. */
function ask(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.showModal();
  });
}

export async function askName() {
  $("name").value = ownName();
  if (!(await ask($("name-dialog")))) return "";
  localStorage.setItem(NAME, $("name").value.trim());
  return ownName();
}

/** Ask for a label and return the decision: the suggested label means accept, the given one means keep. */
export async function askLabel({ given, suggested }, classes) {
  $("label").value = classes.find((name) => name !== given && name !== suggested) ?? suggested;
  if (!(await ask($("label-dialog")))) return null;
  const label = $("label").value;
  if (label === suggested) return { verdict: "accept" };
  return label === given ? { verdict: "keep" } : { verdict: "label", label };
}

/** Show how many rows are affected and what will happen to them; return the decision, or null. */
export async function askAll(verdict, total, filter) {
  const rows = plural(total, "row");
  const [title, what, button] = {
    accept: [`Accept ${plural(total, "suggestion")}?`, `${rows} will get the suggested label`, "Accept"],
    keep: [`Keep ${plural(total, "label")} as given?`, `${rows} will keep the label as given`, "Keep"],
    skip: [`Skip ${rows}?`, `${rows} will be marked as skipped and keep their labels for now`, "Skip"],
    label: [`Give ${rows} one label?`, `${rows} will get the label below`, "Label"],
  }[verdict];
  const narrowed = formatFilter(filter);
  const again = filter.status === "open" ? "" : " Earlier decisions about them are replaced.";
  $("all-title").textContent = title;
  const which = `all rows of this list, on every page${narrowed ? ` (${narrowed})` : ""}`;
  $("all-words").textContent = `${what}: ${which}.${again}`;
  $("all-field").hidden = verdict !== "label";
  $("all-yes").textContent = `${button} all ${count(total)}`;
  if (!(await ask($("all-dialog")))) return null;
  return verdict === "label" ? { verdict, label: $("all-label").value } : { verdict };
}
