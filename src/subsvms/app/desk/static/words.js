// Texts for numbers, decisions and filters.

/** @typedef {import("./types.js").Choice} Choice */
/** @typedef {import("./types.js").Counts} Counts */
/** @typedef {import("./types.js").Decision} Decision */

/** @type {[number, string][]} */
const SURE = [[0.99, "almost certain"], [0.9, "very likely"], [0.75, "likely"], [0.5, "more likely than not"]];
const MARKS = {
  accept: ["✓", "accepted"], keep: ["=", "kept"], label: ["✎", "relabelled"], skip: ["↷", "skipped"], drop: ["✕", "left out"],
};
const [SOME, MUCH] = [0.5, 1.5]; // standard deviations of a column from which on numbers are marked once, and twice
const LONGEST_NAME = 60; // characters of a class or value in a menu: its beginning, and its END, as others may begin alike
const END = 20;
const TELLING = 10; // decisions from which on they say something about all suggestions
const LONG_LABEL = 22; // characters from which on names that begin alike are shortened
const ALIKE = 12; // characters that are the same in names that begin alike, and the
const BEGINNING = 8; // ones that are left of what they share

/** @param {number} number */
export const count = (number) => number.toLocaleString("en");
/** @param {number} number @param {string} one */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
/** @type {Map<string, string>} */
const apart = new Map(); // shorter names of classes that begin alike

/** Shorten long names of classes that begin alike to what differs: "Technical support, phone" becomes "Technica… phone". */
export function tellApart(/** @type {string[]} */ names) {
  /** @type {Map<string, string[]>} */
  const families = new Map(); // names that begin alike
  for (const name of [...names].sort()) families.set(name.slice(0, ALIKE), [...(families.get(name.slice(0, ALIKE)) ?? []), name]);
  for (const family of families.values()) {
    const same = countSame(family[0], family[family.length - 1]);
    for (const name of family.length > 1 ? family : []) {
      const from = name.slice(0, same).search(/[^\s_/:,-]*$/); // whole words
      if (name.length > LONG_LABEL && from > ALIKE) apart.set(name, cut(`${name.slice(0, BEGINNING).trimEnd()}… ${name.slice(from)}`));
    }
  }
}

/** How many characters are the same at the beginning. */
function countSame(/** @type {string} */ one, /** @type {string} */ other) {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return same;
}

/** @param {string} text */
export const shorten = (text) => apart.get(text) ?? cut(text);
const cut = (/** @type {string} */ text) =>
  (text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - END)}…${text.slice(-END)}` : text) || "(empty)";
/** @param {string | null} text */
export const quote = (text) => `“${shorten(text ?? "")}”`;

/** A share in per cent, as in the report: only 0 and 1 become 0 % and 100 %. */
export function percent(/** @type {number} */ share) {
  if (share <= 0 || share >= 1) return `${(100 * share).toFixed(0)}\u00a0%`;
  if (share < 0.001) return "<\u00a00.1\u00a0%";
  if (share > 0.999) return ">\u00a099.9\u00a0%";
  return `${(100 * share).toFixed(share < 0.0995 || share > 0.99 ? 1 : 0)}\u00a0%`;
}

/** @param {number} share */
export const sure = (share) => SURE.find(([least]) => share > least)?.[1] ?? "less likely than not";

/** The sign and the word for a decision. */
export const mark = (/** @type {Decision} */ { verdict }) => MARKS[verdict];

/** @param {{ verdict: import("./types.js").Verdict, label: string | null }} decision */
export function formatDecision({ verdict, label }) {
  return {
    accept: () => `accepted the suggestion ${quote(label)}`,
    keep: () => (label === null ? "left it without a label" : `kept the label ${quote(label)}`),
    label: () => `gave it the label ${quote(label)}`,
    skip: () => "skipped it",
    drop: () => "left the row out",
  }[verdict]();
}

/**
 * What somebody is about to decide.
 *
 * @param {Choice} choice
 * @param {{ given: string | null, suggested: string }} issue
 */
export function formatChoice({ verdict, label = "" }, { given, suggested }) {
  return {
    accept: () => `accept the suggestion ${quote(suggested)}`,
    keep: () => `keep the label ${quote(given)}`,
    label: () => `give it the label ${quote(label)}`,
    skip: () => "skip it",
    drop: () => "leave the row out",
  }[verdict]();
}

/** Names in a sentence: "Ann", "Ann and Bob", "Ann, Bob and 3 others". */
export function formatNames(/** @type {string[]} */ names) {
  const shown = names.slice(0, names.length > 3 ? 2 : 3).map(shorten);
  const last = names.length > 3 ? `${names.length - 2} others` : shown.pop();
  return shown.length ? `${shown.join(", ")} and ${last}` : last;
}

/** @param {number | null} number */
export function formatWithstands(number) {
  if (number === null) return ""; // only votes of SVMs are known to withstand anything
  if (!number) return "How many more wrong labels this vote withstands cannot be proved.";
  return `The vote withstands ${plural(number, "further wrong label")} anywhere in the table.`;
}

/** @param {Counts} counts */
export function formatCounts({ issues, decided, skipped, dropped, disputed }) {
  const more = [
    dropped && `${count(dropped)} of them left out`, skipped && `${count(skipped)} skipped`, disputed && `${count(disputed)} disputed`,
  ];
  return [`${count(decided)} of ${count(issues)} decided`, ...more.filter(Boolean)].join(", ");
}

/** What the decisions say about the suggestions, and about the people. */
export function formatAgreement(/** @type {Counts} */ { judged, accepted, low, high, agreement }) {
  const range = `${(100 * (low ?? 0)).toFixed(0)} to ${(100 * (high ?? 1)).toFixed(0)}\u00a0%`;
  const right = judged < TELLING ? "." : `: ${range} of suggestions as clear as these should be right.`;
  const words = [judged ? `${count(accepted)} of ${plural(judged, "flagged suggestion")} accepted${right}` : "No suggestion has been judged one by one yet."];
  if (agreement?.both) {
    words.push(`${formatNames(agreement.people)} agree on ${count(agreement.same)} of ${plural(agreement.both, "row")} that both decided.`);
  }
  return words.join(" ");
}

/** @param {number} number of answers */
export const formatWaiting = (number) => (number ? `${plural(number, "answer")} on the way` : "");

/** @param {string} at */
export function formatWhen(at) {
  const when = new Date(at);
  return Number.isNaN(when.getTime()) ? at : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** What a filter is set to, each with the names of its fields. */
export function listFilters(/** @type {Partial<import("./types.js").Filter>} */ filter) {
  const { given, suggested, low, high, column, value, search, who, verdict, note } = filter;
  /** @type {[string, string | false][]} */
  const found = [
    ["given", given ? `given ${quote(given)}` : false],
    ["suggested", suggested ? `suggested ${quote(suggested)}` : false],
    ["low high", low || high ? `wrong with a probability from ${low || 0} to ${high || 100}\u00a0%` : false],
    ["column", column && value ? `${shorten(column)} is ${quote(value)}` : false],
    ["search", search ? `with the text ${quote(search)}` : false],
    ["verdict", verdict ? MARKS[/** @type {import("./types.js").Verdict} */ (verdict)][1] : false],
    ["who", who ? `decided by ${shorten(who)}` : false],
    ["note", note ? "with a note" : false],
  ];
  return /** @type {[string, string][]} */ (found.filter(([, words]) => words !== false));
}

/** A filter in words, to confirm before all of its rows are decided. */
export const formatFilter = (/** @type {Partial<import("./types.js").Filter>} */ filter) =>
  listFilters(filter).map(([, words]) => words).join(", ");

/**
 * How a witness's value differs: arrows for numbers that are far apart, a sign for anything else.
 *
 * @param {string} value
 * @param {string} other
 * @param {number | undefined} apart by how many standard deviations the other number is higher
 */
export function compare(value, other, apart) {
  if (apart === undefined) return value === other ? "" : "≠";
  const size = Math.abs(apart);
  return size < SOME ? "" : apart > 0 ? (size < MUCH ? "↑" : "⇈") : size < MUCH ? "↓" : "⇊";
}

/** A path, quoted for a shell if needed. */
export const inShell = (/** @type {string} */ path) => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
