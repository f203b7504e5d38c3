// Builds long texts at reading width, with the words that speak for and against the suggestion.

import { make, makeLabel, name } from "./elements.js";
import { markHits } from "./hits.js";
import { isWide } from "./state.js";
import { count } from "./words.js";

/** @typedef {import("./types.js").Issue} Issue */
/** @typedef {import("./types.js").Mark} Mark */
/** @typedef {import("./types.js").Witness} Witness */

const EXCERPT = 90; // characters of a text that is folded
const WEAK = 0.3; // marks below this strength are left out: they would be most of the text
const STRONG = 0.6; // marks from this strength on are shaded
const SIDES = { for: "for the suggestion", against: "against it" };

/**
 * A text in which words are marked.
 *
 * @param {string} text
 * @param {Mark[]} marks
 */
export function makeText(text, marks) {
  const parts = [];
  let from = 0;
  for (const [start, end, side, strength] of [...marks].sort((a, b) => a[0] - b[0])) {
    if (start < from || strength < WEAK) continue; // a word is marked once
    const strong = strength >= STRONG ? " strong" : "";
    parts.push(text.slice(from, start), make("mark", { class: side + strong, title: SIDES[side] }, text.slice(start, end)));
    from = end;
  }
  return make("bdi", { class: "text" }, ...parts, text.slice(from));
}

/** The long texts of a row, and folded those of the rows that speak for and against the suggestion. */
export function makeTexts(/** @type {Issue} */ issue) {
  const long = issue.columns.map((column, place) => ({ column, place })).filter(({ column }) => column.long);
  if (long.length === 0) return null;
  const own = long.map(({ column, place }) =>
    make("div", { class: "long" }, make("h3", {}, name(column.name)), makeText(issue.values[place], issue.marks[column.name] ?? [])));
  const places = long.map(({ place }) => place);
  const isMarked = long.some(({ column }) => issue.marks[column.name]?.some(([, , , strength]) => strength >= WEAK));
  return make(
    "div", { class: "texts" }, make("div", {}, ...own, isMarked ? makeLegend(issue) : null),
    make(
      "div", { class: "others" },
      makeSide("for", ["For ", makeLabel(issue.suggested)], issue.supporting, issue, places),
      makeSide("against", ["Against it"], issue.opposing, issue, places),
    ),
  );
}

const makeLegend = (/** @type {Issue} */ { suggested }) =>
  make(
    "p", { class: "soft legend" }, "Marked words: ", make("mark", { class: "for" }, "for"), " ", makeLabel(suggested), ", ",
    make("mark", { class: "against" }, "against"), " it; shaded ones weigh most.",
  );

/**
 * @param {string} side
 * @param {(Node | string)[]} title
 * @param {Witness[]} witnesses
 * @param {Issue} issue
 * @param {number[]} places of the long columns
 */
function makeSide(side, title, witnesses, issue, places) {
  if (witnesses.length === 0) return null;
  const folded = witnesses.map((witness, i) => {
    const texts = places.map((place) => witness.values[place]);
    const unfold = () => places.map((place, i) => makeText(texts[i], witness.marks[issue.columns[place].name] ?? []));
    const first = texts.find((text) => text !== "") ?? "";
    const excerpt = make("bdi", { class: "excerpt" }, first.length > EXCERPT ? `${first.slice(0, EXCERPT)}…` : first);
    const summary = make("summary", {}, make("span", { class: "soft" }, `Row ${count(witness.row)} `, makeLabel(witness.label)), " ", excerpt);
    const details = make("details", { class: "witness" }, summary);
    if (i === 0 && isWide.matches) details.append(...unfold()), details.setAttribute("open", ""); // it stands beside the text
    else details.addEventListener("toggle", () => (details.append(...unfold()), markHits()), { once: true }); // most stay folded
    return details;
  });
  return make("div", { class: `witnesses ${side}` }, make("h3", {}, ...title), ...folded);
}
