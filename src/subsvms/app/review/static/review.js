// The review page: a list of issues, the chosen one, and the decisions about it.
//
// The server is the only source of truth. Nothing is marked as decided before the server has confirmed that it is
// on disk, and after each decision the list is loaded again. The address holds the filter, so a reload keeps it.

import { attempt, hideLost, hurry, isLost, poll, remark, say, watch } from "./connection.js";
import { listen } from "./controls.js";
import { askAll, askLabel, askName, askWhich, askWhichAll, isAsking, ownName } from "./dialogs.js";
import { get, Lost, post } from "./server.js";
import { fillSelect, makeDetail, makeLine, makeNothing } from "./views.js";
import {
  count, plural, quote, shorten, formatAgreement, formatCounts, formatDecision, formatFilter,
} from "./words.js";

const PAGE = 50; // issues in the list
const AGAIN = 2_000; // milliseconds until another attempt to start
const FAR = 20; // pages to search for the next open issue
const LONG = 120_000; // milliseconds to wait for decisions on all rows: 100,000 of them take a while
const MANY = 200; // the most rows in one answer of the server; there may be more
const EVERYTHING = {
  search: "", status: "open", given: "", suggested: "", low: "", high: "", column: "", value: "", sort: "worst",
};
const NARROWING = ["search", "given", "suggested", "low", "high", "value"];

const $ = (id) => document.getElementById(id);
const isSmall = window.matchMedia("(max-width: 760px)");
const state = {
  meta: null,
  counts: null,
  filter: { ...EVERYTHING },
  page: 0,
  total: 0,
  issues: [], // on this page
  row: null, // the chosen one
  place: 0, // position of that row on the page, or where it was
  issue: null, // all about that row, once it is loaded
  last: 0, // number of the last action that we know of
  listed: 0, // number of the last action that the list shows
  busy: false, // a decision is being stored
  ignored: 0, // keys pressed and buttons clicked meanwhile
  turning: false, // another page of the list is being loaded
};
const turns = { list: 0, issue: 0 }; // an answer to an outdated request is dropped

// The list

const isNarrow = () => NARROWING.some((name) => state.filter[name] !== "");
const lastPage = () => Math.max(0, Math.ceil(state.total / PAGE) - 1);

/** The filter as the server expects it: shares instead of per cent, no empty values. */
function askedFilter() {
  const asked = Object.fromEntries(Object.entries(state.filter).filter(([, value]) => value !== ""));
  for (const name of ["low", "high"]) if (name in asked) asked[name] = String(asked[name] / 100);
  return asked;
}

async function showList() {
  const turn = ++turns.list;
  const answer = await get("issues", { ...askedFilter(), offset: state.page * PAGE, limit: PAGE });
  if (turn !== turns.list) return;
  state.total = answer.total;
  state.listed = answer.last;
  if (state.page > lastPage()) {
    state.page = lastPage();
    return showList();
  }
  state.issues = answer.issues;
  drawList();
}

function drawList() {
  const { total, issues, row, page, filter } = state;
  const hadFocus = $("lines").contains(document.activeElement);
  const place = issues.findIndex((issue) => issue.row === row);
  if (place >= 0) state.place = place;
  $("lines").replaceChildren(...issues.map((issue) => makeLine(issue, issue.row === row)));
  if (place < 0) $("lines").querySelector("button")?.setAttribute("tabindex", "0");
  if (hadFocus) $("lines").querySelector("[tabindex='0']")?.focus();
  $("lines").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  $("shown").textContent = plural(total, filter.status === "all" ? "row" : `${filter.status} row`);
  $("pager").hidden = total <= PAGE;
  $("page").value = page + 1;
  $("page").max = lastPage() + 1;
  $("pages").textContent = count(lastPage() + 1);
  $("page-back").disabled = page === 0;
  $("page-on").disabled = page >= lastPage();
  drawBulk();
  drawNothing();
  keepAddress();
}

function drawBulk() {
  const words = { accept: "Accept all", keep: "Keep all", skip: "Skip all", label: "Label all" };
  for (const button of document.querySelectorAll("[data-all]")) {
    const verdict = button.dataset.all;
    button.textContent = `${words[verdict]} ${count(state.total)}${verdict === "label" ? " as…" : ""}`;
  }
  $("all").hidden = state.total === 0;
}

function drawNothing() {
  const isEmpty = state.total === 0;
  $("nothing").hidden = !isEmpty;
  const words = isEmpty ? makeNothing(state.meta, state.counts, state.filter.status, isNarrow()) : [];
  $("nothing").replaceChildren(...words);
  document.body.classList.toggle("empty", isEmpty && state.row === null);
}

async function goToPage(page) {
  state.page = Math.min(Math.max(0, page), lastPage());
  await showList();
  $("lines").scrollTop = 0;
  if (!isSmall.matches && state.issues.length) await choose(state.issues[0].row);
}

/** Change the filter and show its list from the start. */
async function applyFilter(changes) {
  Object.assign(state.filter, changes);
  state.page = 0;
  drawFilter();
  await showList();
  $("lines").scrollTop = 0;
  if (!isSmall.matches) await choose(state.issues[0]?.row ?? null);
}

/** Change the filter; for another column, offer its values. */
async function narrow(changes) {
  const isOther = "column" in changes && changes.column !== state.filter.column;
  await applyFilter(isOther ? { ...changes, value: "" } : changes);
  if (isOther) await offerValues();
}

function drawFilter() {
  for (const [name, value] of Object.entries(state.filter)) {
    if (document.activeElement !== $(name)) $(name).value = value;
  }
  $("filter-words").textContent = formatFilter(state.filter);
  $("clear").disabled = Object.entries(EVERYTHING).every(([name, value]) => state.filter[name] === value);
}

async function offerValues() {
  const column = state.filter.column;
  const values = column ? await get("values", { column }) : [];
  if (column !== state.filter.column) return;
  const offered = values.filter(([value]) => value !== "");
  const texts = offered.map(([value, times]) => [value, `${shorten(value)} (${count(times)})`]);
  fillSelect($("value"), texts, "any");
  $("value").disabled = offered.length === 0;
  $("value").value = state.filter.value;
}

// The chosen issue

async function choose(row) {
  state.row = row;
  const turn = ++turns.issue;
  markChosen();
  keepAddress();
  if (row === null) return drawIssue(null);
  const issue = await get(`issues/${row}`);
  if (turn === turns.issue) drawIssue(issue);
}

function markChosen() {
  for (const button of $("lines").querySelectorAll("button")) {
    const isChosen = Number(button.dataset.row) === state.row;
    if (isChosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    button.tabIndex = isChosen ? 0 : -1;
    if (!isChosen) continue;
    button.scrollIntoView({ block: "nearest" });
    if ($("lines").contains(document.activeElement)) button.focus();
  }
  const place = state.issues.findIndex((issue) => issue.row === state.row);
  if (place >= 0) state.place = place;
}

function drawIssue(issue) {
  const isOther = issue?.row !== state.issue?.row;
  state.issue = issue;
  $("issue").replaceChildren(...(issue ? makeDetail(issue, state.meta.label) : []));
  $("bar").classList.toggle("idle", issue === null);
  for (const button of $("bar").querySelectorAll("[data-verdict]")) {
    button.disabled = issue === null || (button.dataset.verdict === "keep" && issue.given === null);
  }
  if (isOther) $("detail").scrollTop = 0;
  if (issue === null) showSide("list");
  drawNothing();
}

/** On a small screen the list and the issue take turns. */
function showSide(side) {
  if (document.body.dataset.view === side) return;
  document.body.dataset.view = side;
  if (!isSmall.matches) return;
  window.scrollTo(0, 0);
  if (side === "detail") $("detail-title")?.focus();
  else $("lines").querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
}

/** Check whether someone decided the issue while it is shown. */
async function renewIssue() {
  const { row, issue } = state;
  if (row === null || issue === null) return;
  const found = await get(`issues/${row}`);
  if (state.row !== row || JSON.stringify(found) === JSON.stringify(state.issue)) return;
  const who = found.decision?.who;
  if (who && who !== ownName()) say(`${who} ${formatDecision(found.decision)} just now.`);
  drawIssue(found);
}

async function step(by) {
  const isListed = state.issues[state.place]?.row === state.row;
  const place = state.place + (isListed || by < 0 ? by : 0); // when a row leaves the list, the next one takes its place
  if (state.issues[place]) return choose(state.issues[place].row);
  const page = state.page + by;
  if (page < 0 || page > lastPage()) return say(by > 0 ? "This is the last row." : "This is the first row.");
  if (state.turning) return; // a key that is held down repeats before the page is loaded
  state.turning = true;
  state.page = page;
  await showList().finally(() => (state.turning = false));
  const reached = state.issues.at(by > 0 ? 0 : -1);
  if (reached) await choose(reached.row);
}

/** After a decision, choose the next open issue of the list, as mail programs do. */
async function moveOn(row) {
  await showList();
  const place = state.issues.findIndex((issue) => issue.row === row);
  let from = place >= 0 ? place + 1 : state.place;
  for (let looked = 0; looked < FAR; looked++) {
    const next = state.issues.slice(from).find((issue) => issue.decision === null);
    if (next) return choose(next.row);
    if (state.page >= lastPage()) break;
    state.page += 1;
    from = 0;
    await showList();
  }
  if (state.filter.status !== "open") return choose(row); // shown with its mark
  state.page = 0; // back to issues that were passed over
  await showList();
  await choose(state.issues[0]?.row ?? null);
}

// Decisions

function drawName() {
  $("person").textContent = ownName() ? `Deciding as ${shorten(ownName())}` : "Your name…";
}

async function changeName() {
  await askName();
  drawName();
}

/** Run an action that is stored; ignore others until it is complete, and say so. */
async function store(work) {
  if (isAsking()) return;
  if (state.busy) {
    state.ignored += 1;
    return say("Ignored: the last decision is still being stored.", true);
  }
  state.busy = true;
  state.ignored = 0;
  try {
    const who = ownName() || (await askName());
    drawName();
    if (!who) return say("Nothing was decided: a name is needed.");
    document.body.classList.add("busy");
    await attempt(() => work(who));
  } finally {
    state.busy = false;
    document.body.classList.remove("busy");
    if (state.ignored) remark(`${plural(state.ignored, "press", "presses")} ignored.`);
  }
}

function decide(verdict) {
  const issue = state.issue;
  if (state.row === null) return;
  if (issue?.row !== state.row) return say("The row is still being loaded: nothing was decided.", true);
  if (verdict === "keep" && issue.given === null) return say("This row has no label to keep.", true);
  return store(async (who) => {
    const choice = verdict === "label" ? await askLabel(issue, state.meta.classes) : { verdict };
    if (!choice) return;
    const { decision, counts } = await settle(issue, who, choice);
    if (counts) drawCounts(counts);
    const name = counts ? "you" : decision.who;
    say(`Row ${count(issue.row)}: ${name} ${formatDecision(decision)}.`);
    await moveOn(issue.row);
  });
}

/** Store a decision; if others decided differently since the row was shown, ask which decision to keep. */
async function settle(issue, who, choice) {
  let seen = issue.decision?.act ?? 0;
  for (;;) {
    try {
      const { issue: stored, ...counts } = await post("decide", { row: issue.row, who, seen, ...choice });
      return { decision: stored.decision, counts };
    } catch (error) {
      const theirs = error.found?.issue?.decision;
      if (!theirs) throw error;
      if (!(await askWhich(issue, theirs, choice))) return { decision: theirs };
      seen = theirs.act;
    }
  }
}

function decideAll(verdict) {
  return store(async (who) => {
    const request = { filter: askedFilter(), who, expect: state.total, seen: state.listed };
    const choice = await askAll(verdict, request.expect, state.filter);
    if (!choice) return;
    try {
      const answer = await settleAll({ ...request, ...choice });
      if (!answer) return say("Nothing was decided.");
      drawCounts(answer);
      const left = request.expect - answer.rows;
      say(`${plural(answer.rows, "row")} decided.${left ? ` ${plural(left, "row")} stayed as before.` : ""}`);
    } finally {
      await applyFilter({}).catch(() => {}); // the failure has been reported
    }
  });
}

/** Store a decision on all rows; if others decided some differently since, ask which decisions to keep. */
async function settleAll(request) {
  for (;;) {
    try {
      return await post("decide-all", request, LONG);
    } catch (error) {
      if (!error.found?.differing) throw error;
      const chosen = await askWhichAll(error.found, request.expect);
      if (chosen === "") return null;
      if (chosen === "theirs") request.keep_theirs = true;
      else request.seen = error.found.last;
    }
  }
}

function undo() {
  return store(async (who) => {
    const answer = await post("undo", { who });
    drawCounts(answer);
    const [row] = answer.rows;
    const isOne = answer.rows.length === 1;
    say(`Undone: ${isOne ? `row ${count(row)}` : plural(answer.rows.length, "row")}.`);
    if (isOne) state.row = row;
    await showList();
    await choose(isOne ? row : (state.issues[0]?.row ?? null));
  });
}

// Others

function drawCounts(counts) {
  state.counts = counts;
  $("counts").textContent = formatCounts(counts);
  $("progress").max = Math.max(1, counts.issues);
  $("progress").value = counts.decided;
  $("agreement").textContent = formatAgreement(counts);
}

/** Load decisions made by others, or by us in another tab. */
async function loadNews() {
  const news = await get("state", { since: state.last });
  if (isLost()) await returnToServer();
  if (news.last === state.last || state.busy) return;
  state.last = news.last;
  drawCounts(news);
  await showList();
  if (news.rows.length >= MANY || news.rows.includes(state.row)) await renewIssue();
  if (state.row === null && state.issues.length && !isSmall.matches) await choose(state.issues[0].row);
}

async function returnToServer() {
  hideLost();
  if (!state.busy) say("The server is responding again.");
  await showList();
  await renewIssue();
}

// The address

function keepAddress() {
  const kept = Object.entries(state.filter).filter(([name, value]) => value !== EVERYTHING[name]);
  const words = new URLSearchParams(kept);
  if (state.page) words.set("page", state.page + 1);
  if (state.row !== null) words.set("row", state.row);
  history.replaceState(null, "", `#${words}`);
}

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(EVERYTHING)) state.filter[name] = words.get(name) ?? EVERYTHING[name];
  state.page = Math.max(0, (Number.parseInt(words.get("page"), 10) || 1) - 1);
  const row = Number.parseInt(words.get("row"), 10);
  return row > 0 ? row : null;
}

/** Show the filter and row that the address names. */
async function follow() {
  const row = readAddress();
  drawFilter();
  await offerValues();
  await showList();
  try {
    if (row !== null) return await choose(row);
  } catch (error) {
    if (error instanceof Lost) throw error; // otherwise this row is not an issue
  }
  await choose(isSmall.matches ? null : (state.issues[0]?.row ?? null));
}

// The start

async function start() {
  watch(loadNews, "review", "decided");
  $("filters").open = !isSmall.matches;
  drawName();
  const [meta, counts] = await Promise.all([get("meta"), get("state")]);
  state.meta = meta;
  state.last = counts.last;
  drawCounts(counts);
  $("about").textContent = `Labels of the column ${quote(meta.label)} that look wrong`;
  $("words").textContent = meta.words.join(" ");
  const classes = meta.classes.map((name) => [name, shorten(name)]);
  fillSelect($("given"), classes, "any");
  fillSelect($("suggested"), classes, "any");
  fillSelect($("column"), meta.columns.map((name) => [name, shorten(name)]), "any");
  fillSelect($("label"), classes);
  fillSelect($("all-label"), classes);
  listen(actions);
  await follow();
}

const actions = {
  choose: (row) => attempt(() => choose(row)).then(() => showSide("detail")),
  decide, decideAll, undo, changeName, showSide,
  step: (by) => attempt(() => step(by)),
  turnPage: (by) => attempt(() => goToPage(state.page + by)),
  goToPage: (page) => attempt(() => goToPage(page)),
  narrow: (changes) => attempt(() => narrow(changes)),
  clear: () => attempt(() => narrow({ ...EVERYTHING })),
  follow: () => attempt(follow),
  hurry,
};

async function begin() {
  await attempt(start);
  setTimeout(state.meta ? poll : begin, AGAIN);
}

begin();
