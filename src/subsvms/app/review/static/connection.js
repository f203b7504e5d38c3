// What the page reports: results of actions, and a server that hangs, was stopped or was restarted.

import { Lost, Refused, whenSlow } from "./server.js";

const POLL = 2_000; // milliseconds between checks for decisions by others
const WAITING = "Waiting for the server, which has not responded for some seconds. Nothing is stored until it responds.";

/** What to say when the server does not respond, and when another one has taken its place; `room` is the command. */
const makeWords = (room, act) => ({
  silent:
    `The server is not responding. Nothing can be ${act} until it does; trying again. ` +
    "If it was stopped, start it and open the address that it prints.",
  restarted:
    `The ${room} was restarted, or another one was started; this tab belongs to the previous session. ` +
    `Everything confirmed here is saved. To continue, open the address that subsvms ${room} printed last.`,
});

const $ = (id) => document.getElementById(id);
let lost = false; // the server is not responding
let load = async () => {};
let words;

/** Start to watch the server; `loadNews` loads what others decided, and so shows whether the server is back. */
export function watch(loadNews, room, act) {
  load = loadNews;
  words = makeWords(room, act);
  whenSlow(() => lost || showBanner(WAITING));
}

export const isLost = () => lost;

export function hideLost() {
  lost = false;
  $("lost").hidden = true;
}

// Messages

let saying;
let said = "";
export function say(text, isWrong = false) {
  clearTimeout(saying);
  said = text;
  $("said").textContent = "";
  $("said").classList.toggle("wrong", isWrong);
  saying = setTimeout(() => ($("said").textContent = isWrong ? `⚠ ${text}` : text), 20); // so that it is read out
}

/** Add to what was said last. */
export const remark = (text) => say(`${said} ${text}`, $("said").classList.contains("wrong"));

function showBanner(text) {
  lost = true;
  if ($("lost").textContent !== text) $("lost").textContent = text; // otherwise it would be read out again
  $("lost").hidden = false;
}

/** Whether a refusal is about the server or its files, and not about the request: 403 means another token. */
const isServerGone = ({ status }) => status === 403 || status >= 500;

function showLost(error) {
  if (!(error instanceof Lost || error instanceof Refused)) reportError(error);
  const silent = error instanceof Lost ? words.silent : error.message;
  showBanner(error.status === 403 ? words.restarted : silent);
}

// Attempts

/** Run an action; if it fails, report it. */
export async function attempt(work) {
  try {
    const result = await work();
    if (lost) await hurry();
    return result;
  } catch (error) {
    if (error instanceof Lost || isServerGone(error)) showLost(error);
    else if (!(error instanceof Refused)) reportError(error); // a bug: let it show
    say(isServerGone(error) ? "Not confirmed: see the message above." : error.message, true);
  }
}

/** Load what others decided now. */
export const hurry = () => load().catch(showLost);

/** Load it now and then. */
export async function poll() {
  if (!document.hidden) await hurry();
  setTimeout(poll, POLL);
}
