// Builds the lines of the list.

import { make, makeLabel, name } from "./elements.js";
import { makeWriter } from "./finish.js";
import { count, mark, percent, plural, formatAgreement } from "./words.js";

/** @typedef {import("./types.js").Brief} Brief */

/** @param {number} share */
export function bar(share) {
  const filled = make("span");
  filled.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

/** From the given to the suggested label. */
export const move = (/** @type {{ given: string | null, suggested: string }} */ { given, suggested }) => [
  makeLabel(given, "given"), make("span", { class: "arrow" }, " → "), makeLabel(suggested, "suggested"),
];

/** The number of a row, and what its table calls it. */
export const nameRow = (/** @type {Brief} */ issue) => [`Row ${count(issue.row)}`, ...(issue.id === null ? [] : [", ", name(issue.id)])];

/**
 * One issue of the list.
 *
 * @param {Brief} issue
 * @param {boolean} isChosen
 */
export function makeLine(issue, isChosen) {
  const button = make(
    "button",
    { type: "button", "data-row": issue.row, "aria-current": isChosen && "true", tabindex: isChosen ? "0" : "-1" },
    make("span", { class: "labels" }, ...move(issue)),
    make("span", { class: "sure soft" }, ...(issue.expected === null ? ["no label"] : [`${percent(issue.expected)} wrong`, " ", bar(issue.expected)])),
    makePreview(issue),
    makeMark(issue),
  );
  return make("li", {}, button);
}

/** The row, and the values by which one tells it from others: a text, or two columns. */
function makePreview(/** @type {Brief} */ issue) {
  const parts = issue.preview.flatMap(({ column, excerpt }) => [
    " · ", issue.preview.length > 1 ? make("span", { class: "soft" }, name(column), " ") : null, make("bdi", {}, excerpt),
  ]);
  return make("span", { class: "preview soft" }, make("span", { class: "soft" }, ...nameRow(issue)), ...parts);
}

/** @param {Brief} issue */
export function makeMark({ decision }) {
  if (!decision) return null;
  if (decision.hidden) return make("span", { class: "mark" }, "• decided by somebody else");
  const [sign, word] = mark(decision);
  const note = decision.note ? make("span", { title: decision.note }, ", with a note") : null;
  return make("span", { class: `mark soft ${decision.verdict}` }, `${sign} ${word} by `, name(decision.who), note);
}

/**
 * What to show if the list is empty.
 *
 * @param {import("./types.js").Meta} meta
 * @param {import("./types.js").Counts} counts
 * @param {string} status
 * @param {boolean} isNarrow
 */
export function makeNothing(meta, counts, status, isNarrow) {
  const { issues, decided, dropped, skipped, disputed } = counts;
  if (status === "disputed" && !isNarrow) {
    return [make("p", {}, "No rows are disputed."), make("p", {}, makeOffer("open", "Show open rows"))];
  }
  const say = (/** @type {(Node | string)[]} */ ...words) => make("p", {}, ...words);
  if (issues === 0) return [say("No label in ", name(meta.title), " looks suspicious: there is nothing to review.")];
  if (status === "open" && !isNarrow) {
    const out = dropped ? [`${count(dropped)} of them left out`] : [];
    const words = skipped === 0
      ? `All ${count(issues)} rows are decided${out.length ? `, ${out[0]}` : ""}.`
      : `No row is open: ${[`${count(decided)} decided`, ...out, `${count(skipped)} skipped`].join(", ")}.`;
    const more = [skipped ? ["skipped", "Show skipped rows"] : [], disputed ? ["disputed", `Settle ${plural(disputed, "disputed row")}`] : []];
    const offers = [...more, ["decided", "Look at the decisions again"]].filter((one) => one.length);
    return [make(
      "div", { class: "finish" }, make("h2", {}, words), decided ? makeWriter(meta.folder) : null,
      make("div", { id: "summary" }), make("p", { class: "soft" }, formatAgreement(counts)), make("p", { class: "offers" }, ...offers.map(([value, text]) => makeOffer(value, text))),
    )];
  }
  const words = status === "open" ? "No open row matches this filter." : "No row matches this filter.";
  return [say(words), make("p", {}, makeOffer("", "Clear the filter"))];
}

/**
 * @param {string} status
 * @param {string} words
 */
const makeOffer = (status, words) => make("button", { type: "button", "data-offer": status }, words);
