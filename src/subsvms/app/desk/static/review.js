// The review page: it starts here, and here it learns what others decide.

import { closeNote, findLabel, keepDraft, hasMore, makeButtons, openNote } from "./bar.js";
import { attempt, hideLost, hurry, isLost, poll, say, watch } from "./connection.js";
import { listen } from "./controls.js";
import { changeName, decide, decideAll, drawName, giveLabel, giveOtherLabel, redo, undo } from "./decisions.js";
import { $, all, fillSelect, setClasses } from "./elements.js";
import { choose, goBack, renewIssue, scrollRow, showEntry, showSide } from "./issue.js";
import { listenToKeys, openHelp } from "./keys.js";
import { drawCounts, offerPeople, showList } from "./list.js";
import { follow, followAgain, goToPage, narrow, step } from "./navigation.js";
import { countWaiting, listWaiting, whenLengthChanges } from "./queue.js";
import { forget } from "./rows.js";
import { get } from "./server.js";
import { EVERYTHING, isSmall, isTight, noteSudden, state } from "./state.js";
import { count, formatWaiting, plural, quote, shorten } from "./words.js";

const AGAIN = 2_000; // milliseconds until another attempt to start
const MANY = 200; // the most rows in one answer of the server; there may be more

// Others

/** Load decisions made by others, or by us in another tab. */
async function loadNews() {
  const news = /** @type {import("./types.js").News} */ (await get("state", { since: String(state.last) }));
  if (isLost()) await returnToServer();
  if (news.last === state.last || countWaiting()) return;
  state.last = news.last;
  drawCounts(news);
  if (news.rows.length >= MANY) forget();
  else if (news.rows.length) forget(...news.rows);
  await showList();
  offerPeople(...(await get("meta")).people);
  if (news.rows.length >= MANY || (state.row !== null && news.rows.includes(state.row))) await renewIssue();
  if (state.row === null && state.issues.length && !isSmall.matches) {
    noteSudden();
    await choose(state.issues[0].row);
  }
}

async function returnToServer() {
  hideLost();
  if (!countWaiting()) say("The server is responding again.");
  forget();
  await followAgain();
  await showList();
  await renewIssue();
}

/** What waits here while the server does not respond. */
function formatKept() {
  const rows = listWaiting();
  if (rows.length === 0) return "";
  return `Not stored yet: ${plural(rows.length, "answer")}, on ${rows.length === 1 ? "row" : "rows"} ${rows.map(count).join(", ")}.`;
}

/** @param {number} length */
function drawWaiting(length) {
  $("waiting").textContent = formatWaiting(length);
  document.body.classList.toggle("busy", length > 0);
}

// The start

const actions = {
  decide, decideAll, giveLabel, undo, redo, changeName, openNote, closeNote, keepDraft, scrollRow, goBack, openHelp,
  giveNumber: (/** @type {number} */ number) => {
    const label = findLabel(number);
    if (label !== undefined) giveLabel(label);
  },
  giveOtherLabel: () => hasMore() && giveOtherLabel(),
  choose: (/** @type {number} */ row) => {
    void attempt(() => choose(row));
    showSide("detail");
  },
  step: (/** @type {number} */ by) => attempt(() => step(by)),
  turnPage: (/** @type {number} */ by) => attempt(() => goToPage(state.page + by)),
  goToPage: (/** @type {number} */ page) => attempt(() => goToPage(page)),
  narrow: (/** @type {Partial<import("./types.js").Filter>} */ changes) => attempt(() => narrow(changes)),
  clear: () => attempt(() => narrow({ ...EVERYTHING })),
  search: () => {
    $("filters", HTMLDetailsElement).open = true;
    showSide("list");
    $("search", HTMLInputElement).select();
  },
  escape: () => ($("all", HTMLDetailsElement).open ? ($("all", HTMLDetailsElement).open = false) : goBack()),
  unfoldWitnesses: () => {
    const folded = /** @type {HTMLDetailsElement[]} */ (all("details.witness"));
    const isOpen = folded.some((one) => !one.open);
    folded.forEach((one) => (one.open = isOpen));
  },
};

async function start() {
  watch(loadNews, "review", "decided", formatKept);
  $("filters", HTMLDetailsElement).open = !isTight.matches;
  drawName();
  const [meta, counts] = await Promise.all([get("meta"), get("state")]);
  state.meta = meta;
  setClasses(meta.classes, meta.marks);
  state.last = counts.last;
  drawCounts(counts);
  $("about").textContent = `Labels of the column ${quote(meta.label)} that look wrong`;
  $("words").textContent = meta.words.join(" ");
  const pair = (/** @type {string} */ name) => [name, shorten(name)];
  for (const id of ["given", "suggested"]) fillSelect($(id, HTMLSelectElement), meta.classes.map(pair), "any");
  fillSelect($("column", HTMLSelectElement), meta.columns.map(pair), "any");
  fillSelect($("all-label", HTMLSelectElement), meta.classes.map(pair));
  offerPeople();
  makeButtons();
  for (const line of all(".many")) line.hidden = !hasMore();
  listen(actions);
  listenToKeys(actions);
  whenLengthChanges(drawWaiting);
  window.addEventListener("beforeunload", (event) => countWaiting() && event.preventDefault());
  window.addEventListener("hashchange", () => attempt(follow));
  window.addEventListener("popstate", ({ state: kept }) => isSmall.matches && kept && showEntry(kept.side));
  document.addEventListener("visibilitychange", () => document.hidden || hurry());
  await follow();
}

async function begin() {
  await attempt(start);
  setTimeout(state.meta ? poll : begin, AGAIN);
}

void begin();
