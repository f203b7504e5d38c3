// The audit page: one question at a time, and its answer.
//
// The server is the only source of truth: it chooses the question, and the next one comes with the confirmation that
// the answer is on disk. The page knows nothing about a row that would give away what the run thinks of it.

import { offer, reset } from "./answers.js";
import { attempt, hideLost, hurry, isLost, poll, remark, say, showLost, watch, whenBack } from "./connection.js";
import { askName, isAsking, listenToDialogs, ownName } from "./dialogs.js";
import { $, make, makeValue, name, setClasses } from "./elements.js";
import { makeWriter } from "./finish.js";
import { openHelp } from "./keys.js";
import { makeMedium } from "./media.js";
import { get, isServerGone, post, Refused } from "./server.js";
import { inShell, plural, quote, shorten } from "./words.js";

const AGAIN = 2_000; // milliseconds until another attempt to start
const GLANCE = 400; // milliseconds in which nobody reads a question: presses are meant for the one before
const LONG = 60; // characters of a value that gets a line of its own
const BEGUN = "subsvms.audit"; // set in a tab in which somebody began

/** @typedef {{ row: number, id: number, columns: string[], values: string[] }} Question */
/** @typedef {{ sentence: string, total: string, finished: boolean, claim: string | null, stands: boolean, answers: number, share: number }} Progress */
/** @typedef {{ label: string, classes: string[], marks: string[], folder: string, part: "audit" | "confirm" | "until" | "estimate" | "test", is_blind: boolean, media: Record<string, "image" | "audio">, hosts: string[] }} Meta */
/** @typedef {{ question: Question | null, progress: Progress }} News */

const ABOUT = {
  audit: (/** @type {string} */ label) => `An audit of the labels in ${label}`,
  confirm: (/** @type {string} */ label) => `Are the changes of ${label} right?`,
  estimate: (/** @type {string} */ label) => `How many labels are wrong in ${label}`,
  until: (/** @type {string} */ label) => `A target for the wrong labels in ${label}`,
  test: (/** @type {string} */ label) => `The score of a model on the true labels, not those in ${label}`,
};
const state = {
  meta: /** @type {Meta} */ ({ label: "", classes: [], marks: [], folder: "", part: "audit", is_blind: true, media: {}, hosts: [] }),
  question: /** @type {Question | null} */ (null),
  started: false,
  begun: false,
  busy: false, // an answer is being stored
  isNew: false, // the question has only just appeared
  ignored: 0, // keys pressed and buttons clicked meanwhile
  told: "", // about the last answer
};

// Drawing

/** Show what the server answered: where the audit stands, and the question. */
function draw(/** @type {News} */ { question, progress }) {
  drawProgress(progress);
  if (progress.finished) return drawEnd(progress);
  if (!state.begun) return show("start");
  if (question) return drawQuestion(question);
  state.question = null;
  show("wait");
}

/** @param {"start" | "ask" | "wait" | "end"} view */
function show(view) {
  if (document.body.dataset.view === view) return;
  document.body.dataset.view = view;
  const title = view === "wait" || view === "end" ? `${view}-title` : null;
  if (title) $(title).focus();
}

/**
 * @param {string} id
 * @param {string} words
 */
function write(id, words) {
  if ($(id).textContent !== words) $(id).textContent = words; // otherwise it would be read out again
}

/** @param {Progress} progress */
function drawProgress({ sentence, share, total, finished, claim }) {
  write("sentence", finished ? "Done" : sentence);
  $("progress", HTMLProgressElement).value = share;
  write("total", total);
  $("so-far").hidden = finished || !claim;
  write("holds", claim ?? "");
}

/** @param {Question} question */
function drawQuestion(question) {
  const isOther = state.question?.row !== question.row || document.body.dataset.view !== "ask";
  state.question = question;
  show("ask");
  if (!isOther) return;
  $("question").replaceChildren("What should “", name(state.meta.label), "” be?");
  $("values").replaceChildren(...question.columns.map((column, i) => makePair(column, question.values[i])));
  $("main").scrollTop = 0;
  reset();
  $("question").focus({ preventScroll: true });
  state.isNew = true;
  document.body.dataset.new = "";
  setTimeout(() => {
    if (state.question?.row !== question.row) return;
    state.isNew = false;
    delete document.body.dataset.new;
  }, GLANCE);
}

/**
 * @param {string} column
 * @param {string} value
 */
function makePair(column, value) {
  const isLong = value.length > LONG || value.includes("\n") || column in state.meta.media;
  const shown = makeMedium(state.meta, state.question?.row ?? 0, column, value) ?? makeValue(value);
  return make("div", { class: isLong ? "long" : null }, make("dt", {}, name(column)), make("dd", {}, shown));
}

/** @param {Progress} progress */
function drawEnd({ claim, stands }) {
  state.question = null;
  write("claim", claim ?? "");
  const { part, folder } = state.meta;
  if (part === "estimate") write("next", `subsvms audit ${inShell(folder)}`);
  else if (part !== "test" && document.body.dataset.view !== "end") $("writer").replaceChildren(makeWriter(folder, stands ? "suggestion" : "keep"));
  $("without").hidden = !stands;
  if (part === "confirm") write("more", `subsvms audit ${inShell(folder)}`);
  show("end");
}

function drawName() {
  $("person").textContent = ownName() ? `Answering as ${shorten(ownName())}` : "Your name…";
}

// Answers

/**
 * What is said after an answer; nothing about the label if it may be asked again.
 *
 * @param {{ given: string | null, suggested: string | null, label: string | null }} told
 */
function formatTold({ given, suggested, label }) {
  const said = `${label === null ? "That you cannot tell" : quote(label)} is stored`;
  if (given === null) return `${said}.`;
  return `${said}. The label was ${quote(given)}; suggested was ${quote(suggested)}.`;
}

/** @param {string | null} label */
async function answer(label) {
  const { question } = state;
  if (document.body.dataset.view !== "ask" || !question || isAsking()) return;
  if (state.busy || state.isNew) return ignore();
  state.busy = true;
  state.ignored = 0;
  document.body.classList.add("busy");
  await attempt(() => store(question, label)).finally(() => {
    state.busy = false;
    document.body.classList.remove("busy");
    if (state.ignored) remark(`${plural(state.ignored, "press", "presses")} ignored.`);
  });
}

/**
 * Store an answer; if the server is gone, once it is back and asks the same.
 *
 * @param {Question} question
 * @param {string | null} label
 * @returns {Promise<void>}
 */
async function store(question, label, isAgain = false) {
  try {
    const news = isAgain ? /** @type {News} */ (await post("question", { who: ownName() })) : { question };
    if (news.question?.row !== question.row) {
      if ("progress" in news) draw(news);
      return tell("That question has an answer by now; this is the next one.");
    }
    const { row, id } = news.question;
    const found = await post("answer", { who: ownName(), row, id, label });
    tell(formatTold(found.told));
    draw(found);
  } catch (error) {
    if (error instanceof Refused && error.status === 409) draw(error.found); // the question that is open now
    if (!isServerGone(error)) throw error;
    say("The answer waits here, and is sent once the server responds.", true);
    showLost(error);
    await whenBack();
    await store(question, label, true);
  }
}

/** Two presses for one question: the second is not an answer to the next one. */
function ignore() {
  state.ignored += 1;
  const presses = plural(state.ignored, "press", "presses");
  if (state.busy) say("Ignored: the last answer is still being stored.", true);
  else say(`${state.told} ${presses} ignored, as the question had only just appeared.`, true);
}

/** @param {string} words */
function tell(words) {
  state.told = words;
  say(words);
}

// Others, and the server

/** Load the open question: others may have answered, or we in another tab. */
async function loadNews() {
  const news = state.begun ? await post("question", { who: ownName() }) : await get("progress");
  if (isLost()) {
    hideLost();
    tell("The server is responding again.");
  }
  if (state.busy) return;
  const before = state.question;
  draw(news);
  if (before && state.question && before.row !== state.question.row) {
    tell("That question was answered elsewhere; this is the next one.");
  }
}

/** Let others have the question when the page is closed; another tab of ours, if there is one, soon asks again. */
function leave() {
  const body = new Blob([JSON.stringify({ who: ownName() })], { type: "application/json" });
  if (state.question) navigator.sendBeacon(new URL("../api/leave", import.meta.url), body);
}

// The start

async function begin() {
  if (!ownName()) await askName();
  drawName();
  if (!ownName()) return say("A name is needed to begin.", true);
  state.begun = true;
  sessionStorage.setItem(BEGUN, "yes");
  await attempt(loadNews);
}

async function changeName() {
  const before = ownName();
  await askName();
  drawName();
  if (state.begun && ownName() !== before) await attempt(() => post("leave", { who: before }).then(loadNews));
}

async function start() {
  watch(loadNews, document.body.dataset.room ?? "", "answered");
  drawName();
  const [meta, news] = await Promise.all([get("meta"), get("progress")]);
  $("about").textContent = ABOUT[/** @type {Meta} */ (meta).part](quote(meta.label));
  if (news.progress.answers) $("begin").textContent = "Go on";
  [state.meta, state.started] = [meta, true];
  state.begun = ownName() !== "" && sessionStorage.getItem(BEGUN) !== null;
  setClasses(meta.classes, meta.marks);
  offer(meta.classes, answer);
  listenToDialogs();
  $("begin").onclick = begin;
  $("person").onclick = changeName;
  $("help-button").onclick = openHelp;
  window.addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => document.hidden || hurry());
  if (state.begun) return loadNews();
  draw(news);
  if (!news.progress.finished) $("begin").focus({ preventScroll: true }); // the text above it comes first
}

async function open() {
  await attempt(start);
  setTimeout(state.started ? poll : open, AGAIN);
}

open();
