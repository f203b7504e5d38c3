// The end of a review or an audit: what was decided, and the table that follows from it.

import { $, make, makeLabel, name } from "./elements.js";
import { get, post, Refused } from "./server.js";
import { count, inShell } from "./words.js";

const LONG = 120_000; // milliseconds to wait for a large table to be written
/** @type {[string, string][]} */
const VERDICTS = [["accept", "Accepted"], ["keep", "Kept"], ["label", "Other label"], ["drop", "Left out"], ["skip", "Skipped"]];
/** @type {[string, string][]} */
const MOVES = [["kept", "Label stays"], ["from", "Changed from it"], ["to", "Changed to it"], ["out", "Left out"], ["open", "Skipped"]];

/** Show how many rows of each class and by each person were decided how. */
export async function showSummary() {
  const { classes, people } = await get("summary");
  const place = document.getElementById("summary"); // the list may be shown again by now
  place?.replaceChildren(
    makeTable("By class", MOVES, classes, makeLabel), makeTable("By person", VERDICTS, people, name),
  );
}

/**
 * A table of counts, without columns that hold nothing.
 *
 * @param {string} title
 * @param {[string, string][]} columns
 * @param {Record<string, Record<string, number>>} lines
 * @param {(text: string) => HTMLElement} show
 */
function makeTable(title, columns, lines, show) {
  const used = columns.filter(([key]) => Object.values(lines).some((line) => line[key]));
  const head = make("tr", {}, make("td"), ...used.map(([, words]) => make("th", { scope: "col" }, words)));
  const body = Object.entries(lines).sort(([a], [b]) => a.localeCompare(b)).map(([key, line]) =>
    make("tr", {}, make("th", { scope: "row" }, show(key)), ...used.map(([one]) => make("td", {}, count(line[one] ?? 0)))));
  const table = make("table", {}, make("caption", {}, title), make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, table);
}

/**
 * What happens next: a button that writes the table, and the command that does the same.
 *
 * @param {string} folder
 * @param {"keep" | "suggestion"} undecided
 */
export function makeWriter(folder, undecided = "keep") {
  const flags = undecided === "keep" ? "" : ` --undecided ${undecided}`;
  const command = make("code", { id: "next" }, `subsvms apply ${inShell(folder)}${flags}`);
  const button = make("button", { type: "button", class: "first", id: "write" }, "Write the table");
  const said = make("p", { role: "status", id: "written" });
  let force = false;
  button.onclick = async () => {
    button.toggleAttribute("disabled", true);
    said.textContent = "Writing the table…";
    try {
      said.textContent = (await post("apply", { undecided, force }, LONG)).said;
      [force, button.textContent] = [true, "Write it again"];
    } catch (error) {
      const isThere = error instanceof Refused && error.found.is_there === true;
      if (isThere) [force, button.textContent] = [true, "Replace the table that is there"];
      said.textContent = error instanceof Error ? error.message : String(error);
    }
    said.className = "done";
    button.toggleAttribute("disabled", false);
    button.focus();
  };
  return make(
    "div", { class: "writer" },
    make("p", {}, "Next, the table is written with these labels, into the folder of the run; the table that was read stays as it is."),
    make("p", { class: "act" }, button, " or ", command), said,
  );
}
