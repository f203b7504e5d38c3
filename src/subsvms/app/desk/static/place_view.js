// Builds where the values of a row lie among those of the two classes, if there are no rows to compare it with.

import { badge, colourOf, make, makeLabel, makeValue, name } from "./elements.js";
import { percent } from "./words.js";

const WIDTH = 9; // of a strip in rem, as in evidence.css

/** @typedef {import("./types.js").Issue} Issue */
/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").Range} Range */

/**
 * The values of a row: numbers on a strip with the range of either class, others with their share in it.
 *
 * @param {Issue} issue
 * @param {number[]} columns places of those that are shown
 */
export function makePlaces(issue, columns) {
  const { given, suggested } = issue;
  const old = given === null ? "Other labels" : makeLabel(given);
  const head = make(
    "tr", {}, make("td"), make("th", { scope: "col" }, "This row"), make("th", { scope: "col", class: "side" }, makeLabel(suggested)),
    make("th", { scope: "col" }, old), make("th", { scope: "col", class: "side" }, "It looks like"),
  );
  const rows = columns.map((i) => {
    const { name: column, used } = issue.columns[i];
    const place = Object.hasOwn(issue.places, column) ? issue.places[column] : null;
    const cells = place ? makeCells(place, [suggested, given]) : [make("td", { class: "side" }), make("td"), make("td", { class: "side" })];
    return make("tr", { class: used ? null : "unused" }, make("th", { scope: "row" }, name(column)), make("td", {}, makeValue(issue.values[i])), ...cells);
  });
  const table = make("table", { class: "compare places" }, make("thead", {}, head), make("tbody", {}, ...rows));
  const title = `The values of row ${issue.row} among those of both labels`;
  const legend = "No similar rows were looked for here. Of either label: where the middle eight in ten of its numbers lie (upper bar: the suggested label, "
    + "lower bar: the other, line: this row), or the share of its rows with this value; wrong labels are among them. Columns that tell the labels apart best come first.";
  return make("div", {}, make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, table), make("p", { class: "soft legend" }, legend));
}

/**
 * @param {Place} place
 * @param {(string | null)[]} labels
 */
function makeCells(place, labels) {
  const cell = (/** @type {string} */ side, /** @type {(Node | string)[]} */ ...words) => make("td", { class: side }, ...words);
  if (place.shares !== undefined) {
    const [a, b] = place.shares;
    return [cell("side", percent(a)), cell("", percent(b)), cell("side", ...(Math.max(a, b) > 2 * Math.min(a, b) ? nameSide(labels[a > b ? 0 : 1]) : ["either"]))];
  }
  const [first, second] = place.ranges;
  const text = (/** @type {Range} */ [low, , high]) => `${format(low)} to ${format(high)}`;
  const strip = makeStrip(place, labels);
  return [cell("side", text(first)), cell("", text(second)), cell("side", strip, " ", ...findLikely(place, labels))];
}

/**
 * In words what the strip shows.
 *
 * @param {{ own?: number | null, ranges: Range[] }} place
 * @param {(string | null)[]} labels
 */
function findLikely({ own, ranges }, labels) {
  if (own === null || own === undefined) return ["no number"];
  const inside = ranges.map(([low, , high]) => own >= low && own <= high);
  if (inside[0] !== inside[1]) return nameSide(labels[inside[0] ? 0 : 1]);
  if (inside[0]) return ["either"];
  return [own > Math.max(ranges[0][2], ranges[1][2]) ? "neither: higher" : own < Math.min(ranges[0][0], ranges[1][0]) ? "neither: lower" : "neither: between"];
}

/** @param {string | null} label @returns {(Node | string)[]} */
const nameSide = (label) => (label === null ? ["other labels"] : [badge(label) ?? "", " ", name(label)]);

/**
 * The range of either class in its colour, one above the other, and this row.
 *
 * @param {{ own?: number | null, low: number, high: number, ranges: Range[] }} place
 * @param {(string | null)[]} labels
 */
function makeStrip({ own, low, high, ranges }, labels) {
  const at = (/** @type {number} */ value) => (high > low ? (WIDTH * (value - low)) / (high - low) : WIDTH / 2);
  const parts = ranges.map(([from, , to], i) => {
    const part = make("span", { class: i ? "against" : "for", "data-class": colourOf(labels[i]) });
    part.style.left = `${at(from)}rem`;
    part.style.width = `${at(to) - at(from)}rem`;
    return part;
  });
  if (own !== null && own !== undefined) {
    const tick = make("span", { class: "own" });
    tick.style.left = `calc(${at(own)}rem - 1px)`;
    parts.push(tick);
  }
  return make("span", { class: "strip", "aria-hidden": "true" }, ...parts);
}

/** A number with as many digits as one reads. */
const format = (/** @type {number} */ value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 12 });
