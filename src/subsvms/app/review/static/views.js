// Builds the elements of the page. Data become text, never markup.

import {
  compare, count, inShell, mark, percent, shorten, sure, formatDecision, formatWhen, formatWithstands,
} from "./words.js";

/** Make an element: make("p", { class: "soft" }, "text", child). */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const name = (text) => {
  if (text === null) return make("span", { class: "missing" }, "no label");
  return make("bdi", { title: text.length > 60 ? text : null }, shorten(text));
};
const move = ({ given, suggested }) => [name(given), make("span", { class: "arrow" }, " → "), name(suggested)];

function bar(share) {
  const filled = make("span");
  filled.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

export function fillSelect(select, texts, first = null) {
  const options = texts.map(([value, text]) => make("option", { value }, text));
  select.replaceChildren(...(first === null ? [] : [make("option", { value: "" }, first)]), ...options);
}

/** The number of a row, and what its table calls it. */
const nameRow = (issue) => [`Row ${count(issue.row)}`, ...(issue.id === null ? [] : [", ", name(issue.id)])];

/** One issue of the list. */
export function makeLine(issue, chosen) {
  const button = make(
    "button",
    { type: "button", "data-row": issue.row, "aria-current": chosen && "true", tabindex: chosen ? "0" : "-1" },
    make("span", { class: "labels" }, ...move(issue)),
    make("span", { class: "sure" }, sure(issue.confidence), " ", bar(issue.confidence)),
    make("span", { class: "soft" }, ...nameRow(issue)),
    makeMark(issue.decision),
  );
  return make("li", {}, button);
}

function makeMark(decision) {
  if (!decision) return null;
  const [sign, word] = mark(decision);
  return make("span", { class: `mark ${decision.verdict}` }, `${sign} ${word} by `, name(decision.who));
}

/** Everything about the chosen issue. */
export function makeDetail(issue, label) {
  return [
    make("p", { class: "soft" }, ...nameRow(issue), ": ", name(label), " as given → suggested"),
    make("h2", { id: "detail-title", tabindex: "-1" }, ...move(issue)),
    makeDecision(issue.decision),
    make(
      "p",
      { class: "how-sure" },
      make("strong", {}, capitalise(sure(issue.confidence))),
      bar(issue.confidence),
      make("span", {}, `${percent(issue.confidence)} for “`, name(issue.suggested), "”"),
    ),
    make("p", { class: "reason" }, issue.reason ?? ""),
    make("p", {}, formatWithstands(issue.withstands)),
    makeComparison(issue),
    makeHistory(issue.history),
  ].filter((part) => part !== null);
}

const describe = (decision) => [
  make("strong", {}, name(decision.who)), ` ${formatDecision(decision)}, ${formatWhen(decision.at)}.`,
];

function makeDecision(decision) {
  if (!decision) return null;
  const sign = make("span", { class: "sign", "aria-hidden": "true" }, mark(decision)[0]);
  return make("p", { class: `decision ${decision.verdict}` }, sign, make("span", {}, ...describe(decision)));
}

/** The row next to those that speak for and against the suggestion. */
function makeComparison(issue) {
  const sides = [issue.supporting, issue.opposing];
  const witnesses = sides.flat();
  const starts = new Set(sides.filter((side) => side.length).map((side) => witnesses.indexOf(side[0])));
  const side = (i) => (starts.has(i) ? " side" : "");
  const head = [
    make("tr", {}, make("td"), make("th", { scope: "col" }, "This row"), ...makeSideHeads(issue)),
    witnesses.length &&
      make(
        "tr",
        {},
        make("th", { scope: "row" }, "Row"),
        make("th", { scope: "col" }, count(issue.row)),
        ...witnesses.map((witness, i) => make("th", { scope: "col", class: side(i) }, count(witness.row))),
      ),
  ];
  const labels = make(
    "tr",
    { class: "label" },
    make("th", { scope: "row" }, "Label"),
    make("td", {}, name(issue.given)),
    ...witnesses.map((witness, i) => make("td", { class: side(i) }, name(witness.label))),
  );
  const lines = issue.columns.map((column, c) => {
    const cells = witnesses.map((witness, i) => makeCell(issue.values[c], witness.values[c], side(i)));
    const own = make("td", {}, makeValue(issue.values[c]));
    return make("tr", {}, make("th", { scope: "row" }, name(column.name)), own, ...cells);
  });
  const body = make("tbody", {}, labels, ...lines);
  const table = make("table", { class: "compare" }, make("thead", {}, ...head.filter(Boolean)), body);
  const title = `Row ${issue.row} and the rows that speak for and against the suggestion`;
  const legend = make("p", { class: "soft legend" }, "Compared with this row: ↑ higher, ↓ lower, ≠ different.");
  const scroll = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, table);
  return make("div", {}, scroll, witnesses.length ? legend : null);
}

function makeSideHeads({ supporting, opposing, suggested }) {
  const cell = (side, ...words) => make("th", { scope: "colgroup", colspan: side.length, class: "side" }, ...words);
  return [
    supporting.length > 0 && cell(supporting, "For “", name(suggested), "”"),
    opposing.length > 0 && cell(opposing, "Against it"),
  ].filter(Boolean);
}

function makeCell(own, other, side) {
  const sign = compare(own, other);
  if (!sign) return make("td", { class: `same${side}` }, makeValue(other));
  const marked = make("span", { class: "marked" }, make("span", { class: "differing" }, sign), makeValue(other));
  return make("td", { class: `differs${side}` }, marked);
}

export function makeValue(text) {
  return text === "" ? make("span", { class: "value missing" }, "empty") : make("bdi", { class: "value" }, text);
}

function makeHistory(history) {
  if (history.length < 2) return null; // a single decision is shown above already
  const lines = history.map((decision) => make("li", {}, ...describe(decision)));
  return make("div", { class: "history" }, make("h3", {}, "Decisions on this row"), make("ol", {}, ...lines));
}

/** What to show if the list is empty. */
export function makeNothing(meta, { issues, decided, skipped }, status, isNarrow) {
  if (status === "disputed" && !isNarrow) {
    return [make("p", {}, "No rows are disputed."), makeOffer("open", "Show open rows")];
  }
  const say = (...words) => make("p", {}, ...words);
  if (issues === 0) return [say("No label in ", name(meta.title), " looks suspicious: there is nothing to review.")];
  if (status === "open" && !isNarrow && decided === issues) {
    const command = make("code", {}, `subsvms apply ${inShell(meta.folder)}`);
    return [say(`All ${count(issues)} rows are decided.`), say(command, " writes the table with these decisions.")];
  }
  if (status === "open" && !isNarrow) {
    const words = `No row is open: ${count(decided)} decided, ${count(skipped)} skipped.`;
    return [say(words), makeOffer("skipped", "Show skipped rows")];
  }
  const words = status === "open" ? "No open row matches this filter." : "No row matches this filter.";
  return [say(words), makeOffer("", "Clear the filter")];
}

const makeOffer = (status, words) => make("p", {}, make("button", { type: "button", "data-offer": status }, words));
const capitalise = (text) => text[0].toUpperCase() + text.slice(1);
