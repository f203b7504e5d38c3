// Builds what is shown of the chosen row: the suggestion, long texts, the comparison, earlier decisions.

import { make, makeLabel, makeValue, name } from "./elements.js";
import { bar, move, nameRow } from "./list_view.js";
import { makeMedia } from "./media.js";
import { makePlaces } from "./place_view.js";
import { getMeta } from "./state.js";
import { makeTexts } from "./text_view.js";
import { compare, count, mark, percent, quote, sure, formatDecision, formatWhen, formatWithstands } from "./words.js";

/** @typedef {import("./types.js").Decision} Decision */
/** @typedef {import("./types.js").Issue} Issue */
/** @typedef {import("./types.js").Witness} Witness */

const FOLDED = 6; // unused columns from which on they are folded

/**
 * Everything about the chosen issue.
 *
 * @param {Issue} issue
 * @param {string} label the column of the labels
 */
export function makeDetail(issue, label) {
  return [
    make("p", { class: "soft" }, ...nameRow(issue), ": ", name(label), " as given → suggested"),
    make("h2", { id: "detail-title", tabindex: "-1" }, ...move(issue)),
    makeDecision(issue.decision),
    makeHistory(issue.history),
    ...makeSure(issue),
    makeMedia(issue),
    makeTexts(issue),
    makeComparison(issue),
    make("p", { class: "reason" }, issue.reason ? `By the rule, which takes errors to be as estimated, while the numbers above allow others, too: ${issue.reason}. ` : "", formatWithstands(issue.withstands)),
    makeCarriers(issue),
  ].filter((part) => part !== null);
}

/** How probable it is that the given label is wrong, and how probable the suggestion; without a label, only that. */
function makeSure(/** @type {Issue} */ { expected, probability, next, given, suggested, flagged }) {
  const right = [
    make("strong", {}, quote(suggested)), ` with a probability of ${percent(probability)}: ${sure(probability)}`,
    next ? `; then ${quote(next[0])} with ${percent(next[1])}` : "",
    expected === null ? "" : `; the label as given, with ${percent(1 - expected)}`, ".",
  ];
  const noLabel = "No label was given, so nothing is kept: the suggestion is what the votes say.";
  const stays = "The rule kept it: without you, the label stays.";
  return [
    expected === null ? null : make(
      "p", { class: "how-sure" }, make("strong", {}, quote(given)), make("span", {}, ` is wrong with a probability of ${percent(expected)}`), bar(expected),
    ),
    make("p", { class: "how-right" }, "Suggested: ", ...right, " ", make("span", { class: "soft" }, given === null ? noLabel : flagged ? "" : stays)),
    make("p", { class: "soft legend" }, "Probabilities are estimates, for errors like those that this table shows; those of all labels add up to 100\u00a0%."),
  ].filter((part) => part !== null);
}

/** A row in short: its labels and values, without what speaks for and against them. */
export function makeShort(/** @type {Issue} */ issue) {
  const alone = { ...issue, supporting: [], opposing: [] };
  const pairs = issue.columns.flatMap(({ name: column, used, long }, place) =>
    used && !long && !(column in getMeta().media) ? [make("dt", {}, name(column)), make("dd", {}, makeValue(issue.values[place]))] : []);
  const labels = make("p", {}, ...nameRow(issue), ": ", ...move(issue));
  return [labels, makeMedia(alone), makeTexts(alone), make("dl", {}, ...pairs)].filter((part) => part !== null);
}

const describe = (/** @type {Decision} */ decision) => [
  make("strong", {}, name(decision.who)), ` ${formatDecision(decision)}, ${formatWhen(decision.at)}.`,
  decision.note ? make("bdi", { class: "note" }, decision.note) : null,
];

/** @param {Decision | null} decision */
function makeDecision(decision) {
  if (!decision) return null;
  if (decision.hidden) return make("p", { class: "decision skip" }, "Somebody else decided this row. You see what once you have decided, too.");
  const sign = make("span", { class: "sign", "aria-hidden": "true" }, mark(decision)[0]);
  return make("p", { class: `decision ${decision.verdict}` }, sign, make("span", {}, ...describe(decision)));
}

/** The short values of the row next to those of rows that speak for and against the suggestion, or of its classes. */
function makeComparison(/** @type {Issue} */ issue) {
  const witnesses = [...issue.supporting, ...issue.opposing];
  const isShown = (/** @type {import("./types.js").Column} */ { name: column, long }) => !long && !(column in getMeta().media);
  const places = issue.columns.map((_, place) => place).filter((place) => isShown(issue.columns[place]));
  if (places.length === 0) return null;
  if (Object.keys(issue.places).length) return makePlaces(issue, places);
  const starts = new Set([issue.supporting.length ? 0 : -1, issue.opposing.length ? issue.supporting.length : -1]);
  const side = (/** @type {number} */ i) => (starts.has(i) ? " side" : "");
  const head = [make("tr", {}, make("td"), make("th", { scope: "col" }, "This row"), ...makeSideHeads(issue))];
  if (witnesses.length) {
    head.push(make(
      "tr",
      {},
      make("th", { scope: "row" }, "Row"),
      make("th", { scope: "col" }, count(issue.row)),
      ...witnesses.map((witness, i) => make("th", { scope: "col", class: side(i) }, count(witness.row))),
    ));
  }
  const labels = make(
    "tr",
    { class: "label" },
    make("th", { scope: "row" }, "Label"),
    make("td", {}, makeLabel(issue.given)),
    ...witnesses.map((witness, i) => make("td", { class: side(i) }, makeLabel(witness.label))),
  );
  const makeRow = (/** @type {number} */ place) => {
    const { name: column, used } = issue.columns[place];
    const cells = witnesses.map((witness, i) => makeCell(issue.values[place], witness.values[place], side(i), witness.apart[column]));
    const own = make("td", {}, makeValue(issue.values[place]));
    return make("tr", { class: used ? null : "unused" }, make("th", { scope: "row" }, name(column)), own, ...cells);
  };
  const unused = places.filter((place) => !issue.columns[place].used);
  const isFolded = unused.length >= FOLDED;
  const used = places.filter((place) => issue.columns[place].used);
  const bodies = [make("tbody", {}, labels, ...used.map(makeRow), ...(isFolded ? [] : unused.map(makeRow)))];
  if (isFolded) bodies.push(make("tbody", { id: "unused", hidden: true }, ...unused.map(makeRow)));
  const table = make("table", { class: "compare" }, make("thead", {}, ...head), ...bodies);
  const title = `Row ${issue.row} and the rows that speak for and against the suggestion`;
  const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, table);
  const legend = make("p", { class: "soft legend" }, "Compared with this row: ↑ ↓ half a standard deviation of the column higher or lower, ⇈ ⇊ one and a half, ≠ different. Columns that separate best come first.");
  const attributes = { type: "button", "data-unfold": "unused", "aria-expanded": "false", "aria-controls": "unused" };
  const unfold = make("button", attributes, `${count(unused.length)} more columns`);
  return make("div", {}, scroll, isFolded ? unfold : null, witnesses.length ? legend : null);
}

/** @param {Issue} issue */
function makeSideHeads({ supporting, opposing, suggested }) {
  const cell = (/** @type {Witness[]} */ side, /** @type {(Node | string)[]} */ ...words) =>
    make("th", { scope: "colgroup", colspan: side.length, class: "side" }, ...words);
  return [
    supporting.length > 0 ? cell(supporting, "For ", makeLabel(suggested)) : null,
    opposing.length > 0 ? cell(opposing, "Against it") : null,
  ];
}

/**
 * @param {string} own
 * @param {string} other
 * @param {string} side
 * @param {number | undefined} apart in standard deviations
 */
function makeCell(own, other, side, apart) {
  const sign = compare(own, other, apart);
  if (!sign) return make("td", { class: `same${side}` }, makeValue(other));
  const marked = make("span", { class: "marked" }, make("span", { class: "differing" }, sign), makeValue(other));
  return make("td", { class: `differs${side}` }, marked);
}

/** The labels that weigh most for a second judge, where it agrees with the suggestion. */
function makeCarriers(/** @type {Issue} */ { carriers, flips }) {
  if (!carriers || !flips) return null;
  const rows = carriers.flatMap(({ row, label, weight }, i) => [
    i ? ", " : "", `row ${count(row)} (`, makeLabel(label), `, ${percent(Math.min(1, weight))})`,
  ]);
  const turning = flips === 1
    ? "One wrong label could turn its verdict."
    : `At least ${count(flips)} labels would have to be wrong for its verdict to turn.`;
  const words = `A second, simpler model agrees, and more can be proved about it. ${turning} The labels that weigh most are those of `;
  const legend = make("span", { class: "soft" }, "In brackets: the label, and how much of the lead is lost if it is wrong.");
  return make("p", { class: "carriers" }, words, ...rows, ". ", legend);
}

/** @param {Decision[]} history */
function makeHistory(history) {
  if (history.length < 2) return null; // a single decision is shown above already
  const lines = history.map((decision) => make("li", {}, ...describe(decision)));
  return make("div", { class: "history" }, make("h3", {}, "Decisions on this row"), make("ol", {}, ...lines));
}
