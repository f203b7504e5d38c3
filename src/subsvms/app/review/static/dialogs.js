// Dialogs that ask for a name, for a label, for confirmation before all rows are decided, and which decisions to keep.

import { count, plural, formatChoice, formatDecision, formatFilter, formatNames } from "./words.js";

const $ = (id) => document.getElementById(id);
const NAME = "subsvms.name"; // where the browser keeps it

export const ownName = () => localStorage.getItem(NAME) ?? "";
export const isAsking = () => document.querySelector("dialog[open]") !== null;

/** Open a dialog; return which button closed it: "yes" for the form's, "" if it was cancelled. */
function choose(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.onclose = () => resolve(dialog.returnValue);
    dialog.showModal();
  });
}

/** Open a dialog; return true if it was confirmed. */
const ask = async (dialog) => (await choose(dialog)) === "yes";

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

/** Show what somebody else decided about a row in the meantime; return whether our decision replaces it. */
export async function askWhich(issue, theirs, choice) {
  const name = theirs.who === ownName() ? "You, in another tab," : theirs.who;
  $("which-title").textContent = `Row ${count(issue.row)} was decided in the meantime`;
  $("which-words").textContent = `${name} ${formatDecision(theirs)}. You want to ${formatChoice(choice, issue)}.`;
  $("which-cancel").hidden = true;
  return (await choose($("which-dialog"))) === "mine";
}

/** The same for all rows of a filter; return "mine", "theirs", or "" if nothing shall be stored. */
export async function askWhichAll({ differing, names }, total) {
  $("which-title").textContent = `${plural(differing, "row")} of ${count(total)} ${differing === 1 ? "was" : "were"} decided in the meantime`;
  $("which-words").textContent = `${formatNames(names)} decided differently since this list was loaded. Keep these decisions and decide the other rows, or replace them?`;
  $("which-cancel").hidden = false;
  return choose($("which-dialog"));
}
