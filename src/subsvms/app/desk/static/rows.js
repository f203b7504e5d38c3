// Rows that the page has loaded: the next ones are there before they are asked for.

import { ownName } from "./dialogs.js";
import { preload } from "./media.js";
import { get } from "./server.js";

/** @typedef {import("./types.js").Issue} Issue */

/** @type {Map<number, { issue: Issue | null, loading: Promise<Issue> }>} */
const kept = new Map();

/** The row if it is here, otherwise null. */
export const peek = (/** @type {number} */ row) => kept.get(row)?.issue ?? null;

/**
 * @param {number} row
 * @returns {Promise<Issue>}
 */
export function load(row) {
  const known = kept.get(row);
  if (known) return known.loading;
  const one = { issue: /** @type {Issue | null} */ (null), loading: get(`issues/${row}`, { viewer: ownName() }) };
  kept.set(row, one);
  one.loading.then((issue) => preload((one.issue = issue))).catch(() => kept.get(row) === one && kept.delete(row)); // whoever asked is told
  return one.loading;
}

/** Load rows that are likely to be asked for next, and let go of all others. */
export function prefetch(/** @type {number[]} */ rows) {
  for (const row of kept.keys()) if (!rows.includes(row)) kept.delete(row);
  for (const row of rows) load(row).catch(() => {}); // if it is needed, it is asked for again
}

/** Let go of rows about which something was decided; of all if none are named. */
export function forget(/** @type {number[]} */ ...rows) {
  if (rows.length === 0) kept.clear();
  for (const row of rows) kept.delete(row);
}
