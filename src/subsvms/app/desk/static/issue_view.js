// Builds what is shown of the chosen row: the suggestion, long texts, the comparison, earlier decisions.

import { make, makeValue, name } from "./elements.js";
import { bar, getShare, move, nameRow } from "./list_view.js";
import { getMeta } from "./state.js";
import { makeTexts } from "./text_view.js";
import { compare, count, mark, percent, sure, formatDecision, formatWhen, formatWithstands } from "./words.js";

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
    make(
      "p",
      { class: "how-sure" },
      make("strong", {}, capitalise(sure(getShare(issue)))),
      bar(getShare(issue)),
      make("span", {}, `${percent(getShare(issue))} that the ${issue.expected === null ? "suggested label is right" : "given label is wrong"}`),
      issue.flagged ? null : make("span", { class: "soft" }, "Not sure enough: without you, the label stays."),
    ),
    makeTexts(issue),
    makeComparison(issue),
    make("p", { class: "reason" }, issue.reason ? `${issue.reason}. ` : "", formatWithstands(issue.withstands)),
    makeCarriers(issue),
  ].filter((part) => part !== null);
}

const describe = (/** @type {Decision} */ decision) => [
  make("strong", {}, name(decision.who)), ` ${formatDecision(decision)}, ${formatWhen(decision.at)}.`,
  decision.note ? make("bdi", { class: "note" }, decision.note) : null,
];

/** @param {Decision | null} decision */
function makeDecision(decision) {
  if (!decision) return null;
  const sign = make("span", { class: "sign", "aria-hidden": "true" }, mark(decision)[0]);
  return make("p", { class: `decision ${decision.verdict}` }, sign, make("span", {}, ...describe(decision)));
}

/** The short values of the row next to those of rows that speak for and against the suggestion. */
function makeComparison(/** @type {Issue} */ issue) {
  const witnesses = [...issue.supporting, ...issue.opposing];
  const places = issue.columns.map((_, place) => place).filter((place) => !issue.columns[place].long);
  if (places.length === 0) return null;
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
    make("td", {}, name(issue.given)),
    ...witnesses.map((witness, i) => make("td", { class: side(i) }, name(witness.label))),
  );
  const makeRow = (/** @type {number} */ place) => {
    const { name: column, used } = issue.columns[place];
    const cells = witnesses.map((witness, i) => makeCell(issue.values[place], witness.values[place], side(i)));
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
  const legend = make("p", { class: "soft legend" }, "Compared with this row: ↑ higher, ↓ lower, ≠ different. Columns that separate best come first.");
  const attributes = { type: "button", "data-unfold": "unused", "aria-expanded": "false", "aria-controls": "unused" };
  const unfold = make("button", attributes, `${count(unused.length)} more columns`);
  const none = make("p", { class: "soft legend" }, "A run in parts looks for rows to compare with only for the worst labels.");
  return make("div", {}, scroll, isFolded ? unfold : null, witnesses.length ? legend : getMeta().is_parts ? none : null);
}

/** @param {Issue} issue */
function makeSideHeads({ supporting, opposing, suggested }) {
  const cell = (/** @type {Witness[]} */ side, /** @type {(Node | string)[]} */ ...words) =>
    make("th", { scope: "colgroup", colspan: side.length, class: "side" }, ...words);
  return [
    supporting.length > 0 ? cell(supporting, "For “", name(suggested), "”") : null,
    opposing.length > 0 ? cell(opposing, "Against it") : null,
  ];
}

/**
 * @param {string} own
 * @param {string} other
 * @param {string} side
 */
function makeCell(own, other, side) {
  const sign = compare(own, other);
  if (!sign) return make("td", { class: `same${side}` }, makeValue(other));
  const marked = make("span", { class: "marked" }, make("span", { class: "differing" }, sign), makeValue(other));
  return make("td", { class: `differs${side}` }, marked);
}

/** The labels that weigh most for a second judge, where it agrees with the suggestion. */
function makeCarriers(/** @type {Issue} */ { carriers, flips }) {
  if (!carriers || !flips) return null;
  const rows = carriers.flatMap(({ row, label, weight }, i) => [
    i ? ", " : "", `row ${count(row)} (“`, name(label), `”, ${percent(Math.min(1, weight))})`,
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

const capitalise = (/** @type {string} */ text) => text[0].toUpperCase() + text.slice(1);
