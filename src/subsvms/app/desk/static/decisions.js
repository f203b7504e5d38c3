// Decisions: each is put on its way to the server, and the next row is shown without waiting for it.
//
// The server is the only source of truth. Nothing is said to be stored, and no number is counted, before the server has
// confirmed that it is on disk.

import { dropDraft, readNote, restoreDraft } from "./bar.js";
import { attempt, isLost, say } from "./connection.js";
import { askAll, askLabel, askName, askWhich, askWhichAll, isAsking, ownName } from "./dialogs.js";
import { $ } from "./elements.js";
import { choose } from "./issue.js";
import { drawCounts, drawMark, notePassed, offerPeople, showList } from "./list.js";
import { applyFilter, moveOn } from "./navigation.js";
import { enqueue } from "./queue.js";
import { forget } from "./rows.js";
import { get, post, Refused } from "./server.js";
import { askedFilter, getMeta, isSudden, noteSudden, state } from "./state.js";
import { count, plural, shorten, formatDecision } from "./words.js";

/** @typedef {import("./types.js").Choice} Choice */
/** @typedef {import("./types.js").Decision} Decision */
/** @typedef {import("./types.js").Issue} Issue */
/** @typedef {import("./types.js").Verdict} Verdict */

/** @type {Partial<Record<Verdict, string>>} */
const DONE = { skip: "skipped", drop: "left out" };
const LONG = 120_000; // milliseconds to wait for decisions on all rows: 100,000 of them take a while

/** @type {Map<number, number>} */
const known = new Map(); // by row, the act of the decision that the server confirmed last

export function drawName() {
  $("person").textContent = ownName() ? `Deciding as ${shorten(ownName())}` : "Your name…";
}

export async function changeName() {
  await askName();
  drawName();
  forget(); // what others decided is shown to some
  $("person").blur(); // otherwise Enter would ask again instead of accepting
}

/** Whether something can be stored now; otherwise say why not. */
function isReady() {
  if (isAsking()) return false;
  if (isLost()) say("Not decided: the server is not responding.", true);
  return !isLost();
}

/** The name to store with a decision, which is asked for once; if there is none, say so. */
async function needName() {
  await changeName();
  if (!ownName()) say("Nothing was decided: a name is needed.");
  return ownName();
}

// One row

/** @param {Verdict} verdict */
export const decide = (verdict) => take({ verdict });

/** Give the chosen row a label: the suggested one means accept, the given one keep. */
export function giveLabel(/** @type {string} */ label) {
  const { suggested, given } = state.issue ?? {};
  take(label === suggested ? { verdict: "accept" } : label === given ? { verdict: "keep" } : { verdict: "label", label });
}

export async function giveOtherLabel() {
  if (state.issue === null || !isReady()) return;
  const label = await askLabel(getMeta().classes);
  if (label !== null) giveLabel(label);
}

/** @param {Choice} choice */
function take(choice) {
  const { row, issue } = state;
  if (row === null || !isReady()) return;
  if (issue?.row !== row) return say("The row is still being loaded: nothing was decided.", true);
  if (isSudden()) return say("The row had only just appeared: nothing was decided.", true);
  if (choice.verdict === "keep" && issue.given === null) return say("This row has no label to keep.", true);
  if (choice.verdict === "skip" && issue.decision?.hidden) {
    say(`Row ${count(row)}: left to others, nothing was stored.`);
    return void attempt(() => moveOn(row));
  }
  if (!ownName()) return void needName().then((who) => who && send(issue, choice));
  send(issue, choice);
}

/**
 * @param {Issue} issue
 * @param {Choice} choice
 */
function send(issue, choice) {
  const body = { row: issue.row, who: ownName(), seen: issue.seen ?? issue.decision?.act ?? 0, note: readNote(), ...choice };
  enqueue({
    rows: [issue.row],
    isRepeatable: true,
    send: async (isAgain) => {
      if (isAgain && (await isStored(body))) return;
      await settle(issue, body);
    },
    giveBack: async (error) => {
      say(`Row ${count(issue.row)} was not decided: ${error instanceof Error ? error.message : error}`, true);
      restoreDraft(issue.row, body.note);
      notePassed(issue.row, null);
      await showList();
      noteSudden();
      await choose(issue.row);
    },
  });
  dropDraft(issue.row);
  forget(issue.row);
  void attempt(() => moveOn(issue.row));
}

/** @typedef {Choice & { row: number, who: string, seen: number, note: string }} Body */

/** Whether the server stored a decision although its answer was lost. */
async function isStored(/** @type {Body} */ { row, who, seen, verdict, label, note }) {
  const found = /** @type {Issue} */ (await get(`issues/${row}`, { viewer: who }));
  const latest = found.decision;
  if (!latest || latest.act <= seen || latest.who !== who || latest.verdict !== verdict) return false;
  if ((label !== undefined && latest.label !== label) || (latest.note ?? "") !== note) return false;
  confirm(found, latest, "you");
  return true;
}

/** Store a decision; if we had decided before, and others decided differently since, ask which decision to keep. */
async function settle(/** @type {Issue} */ issue, /** @type {Body} */ body) {
  body.seen = Math.max(body.seen, known.get(issue.row) ?? 0); // the row may have been loaded before that
  for (;;) {
    try {
      const { issue: stored, is_disputed: isDisputed, act, ...counts } = await post("decide", body);
      drawCounts(counts);
      return confirm(stored, stored.decision, "you", isDisputed ? " Somebody else decided otherwise: the row is disputed." : "");
    } catch (error) {
      const found = error instanceof Refused ? error.found.issue : undefined;
      if (!found?.decision) throw error;
      if (!(await askWhich(issue, found.decision, body))) return confirm(found, found.decision, found.decision.who);
      body.seen = found.decision.act;
    }
  }
}

/**
 * Say and show what is stored.
 *
 * @param {import("./types.js").Brief} issue
 * @param {Decision} decision
 * @param {string} name
 */
function confirm(issue, decision, name, more = "") {
  known.set(issue.row, decision.act);
  forget(issue.row);
  notePassed(issue.row, decision.act);
  drawMark(issue);
  offerPeople(decision.who);
  say(`Row ${count(issue.row)}: ${name} ${formatDecision(decision)}.${more}`);
}

// Many rows

/** Decide on all rows of the filter. */
export async function decideAll(/** @type {Verdict} */ verdict) {
  if (!isReady()) return;
  const { filter, total } = state;
  const request = { filter: askedFilter(filter), expect: total, seen: state.listed };
  const choice = await askAll(verdict, total, filter);
  if (!choice || !(ownName() || (await needName()))) return;
  const send = async () => {
    try {
      const answer = await settleAll({ ...request, ...choice, who: ownName() });
      if (!answer) return say("Nothing was decided.");
      drawCounts(answer);
      offerPeople(ownName());
      const left = total - answer.rows;
      say(`${plural(answer.rows, "row")} ${DONE[choice.verdict] ?? "decided"}.${left ? ` ${plural(left, "row")} stayed as before.` : ""}`);
    } finally {
      forget();
      await applyFilter({}).catch(() => {}); // the failure has been reported
    }
  };
  enqueue({ rows: [], send });
}

/** Store a decision on all rows; if others decided some differently since, ask which decisions to keep. */
async function settleAll(/** @type {Choice & { who: string, seen: number, expect: number, keep_theirs?: boolean }} */ request) {
  for (;;) {
    try {
      return await post("decide-all", request, LONG);
    } catch (error) {
      if (!(error instanceof Refused) || !error.found.differing) throw error;
      const chosen = await askWhichAll(error.found, request.expect);
      if (chosen === "") return null;
      if (chosen === "theirs") request.keep_theirs = true;
      else request.seen = error.found.last;
    }
  }
}

// Back and forth

export const undo = () => revert("undo", "Undone");
export const redo = () => revert("redo", "Done again");

/**
 * @param {string} path
 * @param {string} word
 */
async function revert(path, word) {
  if (!isReady() || !(ownName() || (await needName()))) return;
  const send = async () => {
    const { rows, note, ...counts } = await post(path, { who: ownName() });
    drawCounts(counts);
    const isOne = rows.length === 1;
    say(`${word}: ${isOne ? `row ${count(rows[0])}` : plural(rows.length, "row")}.`);
    rows.forEach((/** @type {number} */ row) => notePassed(row, null));
    forget();
    if (isOne) {
      restoreDraft(rows[0], note);
      state.row = rows[0];
    }
    await showList();
    await choose(isOne ? rows[0] : (state.issues[0]?.row ?? null));
  };
  enqueue({ rows: [], send });
}
