// The chosen issue: its row is shown at once if it was loaded ahead.

import { drawBar } from "./bar.js";
import { say } from "./connection.js";
import { ownName } from "./dialogs.js";
import { $, colourOf } from "./elements.js";
import { markHits } from "./hits.js";
import { makeDetail } from "./issue_view.js";
import { drawNothing, markChosen } from "./list.js";
import { isWaiting } from "./queue.js";
import { forget, load, peek, prefetch } from "./rows.js";
import { getMeta, isSmall, keepAddress, state, writeAddress } from "./state.js";
import { formatDecision } from "./words.js";

const AHEAD = 3; // rows that are loaded before they are asked for
const PAINTED = 50; // milliseconds after which a row has been painted: only then are others loaded
let isScrolled = false; // the row is not shown from its top
$("detail").addEventListener("scroll", () => (isScrolled = true), { passive: true });

/** Show a row: at once if it is here, otherwise as soon as it is loaded. */
export async function choose(/** @type {number | null} */ row) {
  state.row = row;
  markChosen();
  keepAddress();
  if (row === null) return drawIssue(null);
  const known = peek(row);
  noteLoading(known === null);
  const issue = known ?? (await load(row));
  if (state.row !== row) return;
  if (issue !== state.issue) drawIssue(issue);
  setTimeout(loadAround, PAINTED);
}

function noteLoading(/** @type {boolean} */ isLoading) {
  if ($("issue").classList.contains("loading") === isLoading) return;
  $("issue").classList.toggle("loading", isLoading);
  $("issue").ariaBusy = String(isLoading);
}

/** Load the rows that are likely to be shown next. */
function loadAround() {
  const before = state.issues.slice(Math.max(0, state.place - 1), state.place).map((one) => one.row);
  if (state.row !== null) prefetch([state.row, ...listNext(), ...before]);
}

/** Rows that come next: those below in the list that are open. */
export const listNext = () =>
  state.issues.slice(state.place).map((one) => one.row).filter((row) => row !== state.row && !isWaiting(row)).slice(0, AHEAD);

/** @param {import("./types.js").Issue | null} issue */
function drawIssue(issue) {
  const isOther = issue?.row !== state.issue?.row;
  state.issue = issue;
  if (isOther && isScrolled) $("detail").scrollTop = 0; // it takes a layout of its own
  if (isOther) isScrolled = false;
  noteLoading(false);
  $("issue").dataset.class = String(colourOf(issue?.suggested ?? null) ?? "");
  const isRead = $("issue").contains(document.activeElement); // a picture, a sound: then the next row is read from its top
  $("issue").replaceChildren(...(issue ? makeDetail(issue, getMeta().label) : []));
  if (isRead && isOther) $("issue").querySelector("h2")?.focus({ preventScroll: true });
  markHits();
  drawBar(issue, isOther);
  if (isOther) readFromTop();
  if (issue === null) showSide("list");
  drawNothing();
}

function readFromTop() {
  if (!isSmall.matches || document.body.dataset.view !== "detail") return;
  window.scrollTo(0, 0);
  $("issue").querySelector("h2")?.focus({ preventScroll: true });
}

/** Scroll the row by most of its height. */
export function scrollRow(/** @type {number} */ by) {
  const part = isSmall.matches ? document.documentElement : $("detail");
  part.scrollBy({ top: by * 0.85 * part.clientHeight });
}

/** On a small screen the list and the issue take turns, and the browser's back button goes back to the list. */
export function showSide(/** @type {"list" | "detail"} */ side) {
  if (document.body.dataset.view === side) return;
  document.body.dataset.view = side;
  if (!isSmall.matches) return;
  if (side === "detail" && history.state?.side !== "detail") history.pushState({ side }, "", location.href);
  keepAddress();
  if (side === "detail") return readFromTop();
  window.scrollTo(0, 0);
  $("lines").querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
}

/** Show a page of the history: the list, or the row that is chosen now and not the one that was. */
export function showEntry(/** @type {"list" | "detail"} */ side) {
  if (document.body.dataset.view === side) return;
  showSide(side);
  writeAddress();
}

/** Go back to the list, as the browser's back button does. */
export function goBack() {
  if (isSmall.matches && history.state?.side === "detail") history.back();
  else showSide("list");
}

/** Check whether someone decided the issue while it is shown; what is decided about it next is compared with that. */
export async function renewIssue() {
  const { row, issue } = state;
  if (row === null || issue === null) return;
  forget(row);
  const found = await load(row);
  found.seen = issue.seen ?? issue.decision?.act ?? 0; // whoever presses a key now had looked at that
  if (state.row !== row || JSON.stringify(found) === JSON.stringify(state.issue)) return;
  const decision = found.decision;
  if (decision && decision.who !== ownName() && decision.act !== issue.decision?.act) {
    say(decision.hidden ? "Somebody else decided this row just now; what you decide is compared with that." : `${decision.who} ${formatDecision(decision)} just now.`);
  }
  drawIssue(found);
}
