// Texts for numbers, decisions and filters.

const SURE = [[0.99, "almost certain"], [0.9, "very likely"], [0.75, "likely"], [0.5, "more likely than not"]];
const MARKS = {
  accept: ["✓", "accepted"], keep: ["=", "kept"], label: ["✎", "relabelled"], skip: ["↷", "skipped"],
};
const LONGEST_NAME = 60; // characters of a class or value in a menu

export const count = (number) => number.toLocaleString("en");
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const shorten = (text) => (text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text) || "(empty)";
export const quote = (text) => `“${shorten(text)}”`;

/** A share in per cent, as in the report: only 0 and 1 become 0 % and 100 %. */
export function percent(share) {
  if (share <= 0 || share >= 1) return `${(100 * share).toFixed(0)}\u00a0%`;
  if (share < 0.001) return "<\u00a00.1\u00a0%";
  if (share > 0.999) return ">\u00a099.9\u00a0%";
  return `${(100 * share).toFixed(share < 0.0995 || share > 0.99 ? 1 : 0)}\u00a0%`;
}

export function sure(confidence) {
  const found = SURE.find(([least]) => confidence >= least);
  return found ? found[1] : "less likely than not";
}

/** The sign and the word for a decision; a row without one is open. */
export const mark = (decision) => (decision ? MARKS[decision.verdict] : ["", "open"]);

export function formatDecision({ verdict, label }) {
  return {
    accept: () => `accepted the suggestion ${quote(label)}`,
    keep: () => (label === null ? "left it without a label" : `kept the label ${quote(label)}`),
    label: () => `gave it the label ${quote(label)}`,
    skip: () => "skipped it",
  }[verdict]();
}

/** What somebody is about to decide. */
export function formatChoice({ verdict, label }, { given, suggested }) {
  return {
    accept: () => `accept the suggestion ${quote(suggested)}`,
    keep: () => `keep the label ${quote(given)}`,
    label: () => `give it the label ${quote(label)}`,
    skip: () => "skip it",
  }[verdict]();
}

/** Names in a sentence: "Ann", "Ann and Bob", "Ann, Bob and 3 others". */
export function formatNames(names) {
  const shown = names.slice(0, names.length > 3 ? 2 : 3).map(shorten);
  const last = names.length > 3 ? `${names.length - 2} others` : shown.pop();
  return shown.length ? `${shown.join(", ")} and ${last}` : last;
}

export function formatWithstands(number) {
  if (!number) return "One more wrong label elsewhere might change the result of this vote.";
  return `The vote withstands ${plural(number, "further wrong label")} anywhere in the table.`;
}

export function formatCounts({ issues, decided, skipped, disputed }) {
  const more = [skipped && `${count(skipped)} skipped`, disputed && `${count(disputed)} disputed`];
  return [`${count(decided)} of ${count(issues)} decided`, ...more.filter(Boolean)].join(", ");
}

export function formatAgreement({ judged, accepted, low, high }) {
  if (!judged) return "No suggestion has been judged yet.";
  const range = `${(100 * low).toFixed(0)} to ${(100 * high).toFixed(0)}\u00a0%`;
  return (
    `You and others accepted ${count(accepted)} of ${plural(judged, "suggestion")}: ` +
    `${range} of such suggestions are expected to be right.`
  );
}

export function formatWhen(at) {
  const when = new Date(at);
  return Number.isNaN(when.getTime()) ? at : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** A filter in words, to confirm before all of its rows are decided. */
export function formatFilter({ given, suggested, low, high, column, value, search }) {
  const parts = [];
  if (given) parts.push(`given ${quote(given)}`);
  if (suggested) parts.push(`suggested ${quote(suggested)}`);
  if (low || high) parts.push(`confidence from ${low || 0} to ${high || 100}\u00a0%`);
  if (column && value) parts.push(`${shorten(column)} is ${quote(value)}`);
  if (search) parts.push(`with the text ${quote(search)}`);
  return parts.join(", ");
}

/** How a witness's value differs: an arrow for a number, a sign for anything else. */
export function compare(value, other) {
  if (value === other) return "";
  const [a, b] = [value, other].map((text) => (text.trim() === "" ? NaN : Number(text)));
  if (Number.isNaN(a) || Number.isNaN(b)) return "≠";
  return a === b ? "" : b > a ? "↑" : "↓";
}

/** A path, quoted for a shell if needed. */
export const inShell = (path) => (/^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
