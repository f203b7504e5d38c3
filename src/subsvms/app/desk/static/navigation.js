// Ways through the list: step by step, page by page, on to the next open row, by filter, by address.

import { attempt, say } from "./connection.js";
import { $ } from "./elements.js";
import { choose } from "./issue.js";
import { drawFilter, offerValues, passOn, showList } from "./list.js";
import { isWaiting } from "./queue.js";
import { Lost } from "./server.js";
import { forgetAddress, isForeignAddress, isQueue, isSmall, lastPage, ownAddress, readAddress, state, writeAddress } from "./state.js";

const FAR = 20; // pages to search for the next open issue
const FEW = 10; // rows left in the list from which on more are loaded
let isTurning = false; // another page of the list is being loaded
let expected = /** @type {number | null} */ (null); // the row that is shown while a link is followed, unless somebody chooses another
let followed = 0; // addresses, of which only the last is shown

/** @param {number} by */
export async function step(by) {
  const isListed = state.issues[state.place]?.row === state.row;
  const place = state.place + (isListed || by < 0 ? by : 0); // when a row leaves the list, the next one takes its place
  if (state.issues[place]) return choose(state.issues[place].row);
  const page = state.page + by;
  if (page < 0 || page > lastPage()) return say(by > 0 ? "This is the last row." : "This is the first row.");
  if (isTurning) return; // a key that is held down repeats before the page is loaded
  isTurning = true;
  state.page = page;
  await showList().finally(() => (isTurning = false));
  const reached = state.issues.at(by > 0 ? 0 : -1);
  if (reached) await choose(reached.row);
}

/** After a decision, choose the next open issue of the list, as mail programs do. */
export async function moveOn(/** @type {number} */ row) {
  const place = state.issues.findIndex((issue) => issue.row === row);
  passOn(row);
  const isGone = place < 0 || isQueue();
  const next = findOpen(isGone ? state.place : place + 1);
  if (next === undefined) return lookFurther(row);
  const shown = choose(next.row);
  const isRunningOut = isQueue() && state.issues.length <= FEW && state.total > state.issues.length;
  if (isRunningOut) void attempt(showList);
  await shown;
}

const findOpen = (/** @type {number} */ from) =>
  state.issues.slice(from).find((issue) => (issue.decision === null || ["second", "disputed"].includes(state.filter.status)) && !isWaiting(issue.row));

/** Look for an open row on later pages of the list; then begin again with those that were passed over. */
async function lookFurther(/** @type {number} */ row) {
  await showList();
  const place = state.issues.findIndex((issue) => issue.row === row);
  let from = place >= 0 ? place + 1 : state.place;
  for (let looked = 0; looked < FAR; looked++) {
    const next = findOpen(from);
    if (next) return choose(next.row);
    if (state.page >= lastPage()) break;
    state.page += 1;
    from = 0;
    await showList();
  }
  if (!isQueue()) return choose(row); // shown with its mark
  state.page = 0;
  await showList();
  await choose(state.issues[0]?.row ?? null);
}

/** @param {number} page */
export async function goToPage(page) {
  state.page = Math.min(Math.max(0, page), lastPage());
  await showList();
  $("lines").scrollTop = 0;
  if (!isSmall.matches && state.issues.length) await choose(state.issues[0].row);
}

/** Change the filter and show its list from the start. */
export async function applyFilter(/** @type {Partial<import("./types.js").Filter>} */ changes) {
  Object.assign(state.filter, changes);
  state.page = 0;
  drawFilter();
  await showList();
  $("lines").scrollTop = 0;
  if (!isSmall.matches) await choose(state.issues[0]?.row ?? null);
}

/** Change the filter; for another column, offer its values. */
export async function narrow(/** @type {Partial<import("./types.js").Filter>} */ changes) {
  const isOther = changes.column !== undefined && changes.column !== state.filter.column;
  await applyFilter(isOther ? { ...changes, value: "" } : changes);
  if (isOther) await offerValues();
}

/** Show the filter and row that the address names. */
export async function follow() {
  if (!isForeignAddress()) return;
  const own = ++followed;
  expected = state.row;
  const row = readAddress();
  drawFilter();
  try {
    await offerValues();
    if (own === followed) await showList();
    if (own !== followed) return;
    ownAddress(); // not before: what is shown until now would be written over the link
    await chooseOrFirst(row);
  } catch (error) {
    if (own === followed) forgetAddress();
    throw error;
  }
}

/** Show it when the server is back, unless somebody chose another row meanwhile. */
export const followAgain = async () => (state.row === expected ? await follow() : writeAddress());

/** Choose a row, or the first of the list if this row is not an issue. */
async function chooseOrFirst(/** @type {number | null} */ row) {
  try {
    if (row !== null) return await chooseLinked(row);
  } catch (error) {
    if (error instanceof Lost) throw error;
    if (state.row !== row) return; // another was chosen meanwhile
  }
  await chooseLinked(isSmall.matches ? null : (state.issues[0]?.row ?? null));
}

function chooseLinked(/** @type {number | null} */ row) {
  expected = row;
  return choose(row);
}
