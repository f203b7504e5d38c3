// The list of issues, and the filter above it.

import { $, all, fillSelect, make } from "./elements.js";
import { attempt } from "./connection.js";
import { ownName } from "./dialogs.js";
import { showSummary } from "./finish.js";
import { markHits } from "./hits.js";
import { makeLine, makeMark, makeNothing } from "./list_view.js";
import { get } from "./server.js";
import { askedFilter, EVERYTHING, getMeta, isNarrow, isQueue, isUnfiltered, keepAddress, lastPage, PAGE, state } from "./state.js";
import { count, plural, shorten, formatAgreement, formatCounts, listFilters } from "./words.js";

/** @typedef {import("./types.js").Brief} Brief */

const WORDS = { accept: "Accept all", keep: "Keep all", skip: "Skip all", drop: "Leave out all", label: "Label all" };
let nothing = ""; // counts and filter for which it is said that nothing is left
let turn = 0; // an answer to an outdated request is dropped
/** @type {Promise<void>} */
let latest = Promise.resolve(); // kept once the list that was asked for last is shown
/** @type {Map<number, number>} */
const passed = new Map(); // rows that were decided here, and the act that stored it: Infinity while it is on the way

// A click on a line that is drawn again between press and release would be lost: the list waits.
const PRESS = 1_000; // milliseconds after which a press is no click
let release = () => {};
/** @type {Promise<void>} */
let released = Promise.resolve();
$("lines").addEventListener("pointerdown", () => {
  released = new Promise((resolve) => (release = resolve));
  setTimeout(release, PRESS);
});
for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => setTimeout(release));

/**
 * Load the list and show it, or the one that was asked for meanwhile.
 *
 * @returns {Promise<void>}
 */
export const showList = () => (latest = loadList());

/** Load the list and show it, without rows that were decided since the server made it. */
async function loadList() {
  const own = ++turn;
  const range = { offset: String(state.page * PAGE), limit: String(PAGE) };
  $("lines").ariaBusy = "true";
  const asked = get("issues", { ...askedFilter(), ...range, viewer: ownName() });
  const answer = await asked.finally(() => released).finally(() => own === turn && ($("lines").ariaBusy = "false"));
  if (own !== turn) return latest;
  for (const [row, act] of passed) if (act <= answer.last) passed.delete(row);
  const isLeft = (/** @type {Brief} */ { row }) => !isQueue() || !passed.has(row);
  state.issues = answer.issues.filter(isLeft);
  state.total = answer.total - (answer.issues.length - state.issues.length);
  state.listed = answer.last;
  if (state.page > lastPage()) {
    state.page = lastPage();
    return showList();
  }
  drawList();
}

function drawList() {
  const { issues, row } = state;
  const hadFocus = $("lines").contains(document.activeElement);
  $("lines").replaceChildren(...issues.map((issue) => makeLine(issue, issue.row === row)));
  notePlace();
  if (hadFocus) $("lines").querySelector("button")?.focus();
  markChosen();
  markHits();
  drawTotal();
  keepAddress();
}

function notePlace() {
  const place = state.issues.findIndex((issue) => issue.row === state.row);
  if (place >= 0) state.place = place;
  return place;
}

function drawTotal() {
  const { total, page, filter } = state;
  $("shown").textContent = plural(total, filter.status === "all" ? "row" : `${filter.status} row`);
  $("pager").hidden = total <= PAGE;
  $("page", HTMLInputElement).value = String(page + 1);
  $("page", HTMLInputElement).max = String(lastPage() + 1);
  $("pages").textContent = count(lastPage() + 1);
  $("page-back", HTMLButtonElement).disabled = page === 0;
  $("page-on", HTMLButtonElement).disabled = page >= lastPage();
  for (const button of all("[data-all]")) {
    const verdict = /** @type {import("./types.js").Verdict} */ (button.dataset.all);
    button.textContent = `${WORDS[verdict]} ${count(total)}${verdict === "label" ? " as…" : ""}`;
  }
  $("all").hidden = total === 0;
  drawNothing();
}

export function drawNothing() {
  const { total, counts, filter, row } = state;
  const isEmpty = total === 0 && counts !== null;
  $("nothing").hidden = !isEmpty;
  const shown = isEmpty ? JSON.stringify([formatCounts(counts), formatAgreement(counts), filter]) : "";
  if (shown !== nothing) $("nothing").replaceChildren(...(isEmpty ? makeNothing(getMeta(), counts, filter.status, isNarrow()) : []));
  if (shown !== nothing && document.getElementById("summary")) void attempt(showSummary);
  nothing = shown;
  document.body.classList.toggle("empty", isEmpty && row === null);
}

/** Show which line is chosen. */
export function markChosen() {
  const place = notePlace();
  const isFocused = $("lines").contains(document.activeElement);
  for (const button of all("[data-row][tabindex='0']", $("lines"))) {
    button.removeAttribute("aria-current");
    button.tabIndex = -1;
  }
  const chosen = all("[data-row]", $("lines"))[Math.max(0, place)];
  if (!chosen) return;
  chosen.tabIndex = 0;
  if (place < 0) return;
  chosen.setAttribute("aria-current", "true");
  if (isFocused) chosen.focus({ preventScroll: true });
  setTimeout(() => chosen.scrollIntoView({ block: "nearest" })); // once the row is painted: it takes a layout of its own
}

/** Note that a row was decided by an act, or that it is open after all. */
export const notePassed = (/** @type {number} */ row, /** @type {number | null} */ act) =>
  void (act === null ? passed.delete(row) : passed.set(row, act));

/** Take a row out of the list of open ones as soon as its decision is on the way. */
export function passOn(/** @type {number} */ row) {
  notePassed(row, Infinity);
  const place = state.issues.findIndex((issue) => issue.row === row);
  if (place < 0 || !isQueue()) return;
  const line = $("lines").querySelector(`[data-row="${row}"]`)?.parentElement;
  const hadFocus = line?.contains(document.activeElement);
  line?.remove();
  if (hadFocus) $("lines").querySelector("button")?.focus();
  state.issues.splice(place, 1);
  state.place = place;
  state.total -= 1;
  drawTotal();
}

/** Show in the list what was decided about a row. */
export function drawMark(/** @type {Brief} */ issue) {
  const place = state.issues.findIndex(({ row }) => row === issue.row);
  if (place < 0) return;
  state.issues[place] = { ...state.issues[place], ...issue }; // the answer to a decision has no preview
  const line = $("lines").querySelector(`[data-row="${issue.row}"]`);
  line?.querySelector(".mark")?.remove();
  line?.append(makeMark(issue) ?? "");
}

// The filter

export function drawFilter() {
  for (const [name, value] of Object.entries(state.filter)) {
    const field = /** @type {HTMLInputElement | HTMLSelectElement} */ ($(name));
    if (document.activeElement !== field) field.value = value;
    field.parentElement?.classList.toggle("set", value !== EVERYTHING[/** @type {keyof typeof EVERYTHING} */ (name)]);
  }
  const set = listFilters(state.filter);
  $("chips").replaceChildren(...set.map(([name, words]) =>
    make("button", { type: "button", "data-drop": name, title: words, "aria-label": `No longer ${words}` }, `${words} ×`)));
  $("clear", HTMLButtonElement).disabled = isUnfiltered();
}

/** Offer the values of the chosen column. */
export async function offerValues() {
  const column = state.filter.column;
  const values = column ? await get("values", { column }) : [];
  if (column !== state.filter.column) return;
  const offered = values.filter((/** @type {[string, number]} */ [value]) => value !== "");
  const texts = offered.map((/** @type {[string, number]} */ [value, times]) => [value, `${shorten(value)} (${count(times)})`]);
  const select = $("value", HTMLSelectElement);
  fillSelect(select, texts, "any");
  select.disabled = offered.length === 0;
  select.value = state.filter.value;
}

/** Offer the names of those who have decided. */
export function offerPeople(/** @type {string[]} */ ...names) {
  const meta = getMeta();
  const known = [...new Set([...meta.people, ...names])];
  const select = $("who", HTMLSelectElement);
  if (known.length === meta.people.length && select.options.length === known.length + 1) return;
  meta.people = known;
  fillSelect(select, known.map((name) => [name, shorten(name)]), "anybody");
  select.value = state.filter.who;
}

/** @param {import("./types.js").Counts} counts */
export function drawCounts(counts) {
  state.counts = counts;
  $("counts").textContent = formatCounts(counts);
  const bar = $("progress", HTMLProgressElement);
  bar.max = Math.max(1, counts.issues);
  bar.value = counts.decided;
  $("agreement").textContent = $("agreement").title = formatAgreement(counts);
}
