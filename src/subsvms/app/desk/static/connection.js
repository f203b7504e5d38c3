// What the page reports: results of actions, and a server that hangs, was stopped or was restarted.

import { $ } from "./elements.js";
import { isServerGone, Lost, Refused, whenSlow } from "./server.js";

const POLL = 2_000; // milliseconds between checks for decisions by others
const WAITING = "Waiting for the server, which has not responded for some seconds. Nothing is stored until it responds.";

let lost = false; // the server is not responding
let load = async () => {};
let words = { silent: "", restarted: "" };
let formatKept = () => ""; // what waits here to be stored
/** @type {(() => void)[]} */
let waiting = []; // for the server to respond again

/**
 * Start to watch the server.
 *
 * @param {() => Promise<void>} loadNews loads what others decided, and so shows whether the server is back
 * @param {string} room the command
 * @param {string} act what cannot be done without a server
 * @param {() => string} kept says what waits here to be stored
 */
export function watch(loadNews, room, act, kept = () => "") {
  [load, formatKept] = [loadNews, kept];
  words = {
    silent:
      `The server is not responding. Nothing more can be ${act} until it does; trying again. ` +
      "If it was stopped, start it again: this tab goes on by itself.",
    restarted:
      `Another page is served here now: about another run, or with a new address. Everything confirmed here is saved. ` +
      `To go on, start subsvms ${room} again, or open the address that it printed last.`,
  };
  whenSlow(() => lost || showBanner(WAITING));
}

export const isLost = () => lost;

export function hideLost() {
  lost = false;
  $("lost").hidden = true;
  waiting.splice(0).forEach((go) => go());
}

/** @returns {Promise<void>} kept once the server responds again */
export const whenBack = () => new Promise((resolve) => (lost ? waiting.push(resolve) : resolve()));

// Messages

let saying = 0;
let said = "";
/** @param {string} text */
export function say(text, isWrong = false) {
  clearTimeout(saying);
  said = text;
  $("said").textContent = "";
  $("said").classList.toggle("wrong", isWrong);
  saying = setTimeout(() => ($("said").textContent = isWrong ? `⚠ ${text}` : text), 20); // so that it is read out
}

/** Add to what was said last. */
export const remark = (/** @type {string} */ text) => say(`${said} ${text}`, $("said").classList.contains("wrong"));

/** @param {string} text */
function showBanner(text) {
  lost = true;
  const whole = [text, formatKept()].filter(Boolean).join(" ");
  if ($("lost").textContent !== whole) $("lost").textContent = whole; // otherwise it would be read out again
  $("lost").hidden = false;
}

/** @param {unknown} error */
export function showLost(error) {
  if (error instanceof Lost) return showBanner(words.silent);
  if (error instanceof Refused) return showBanner(error.status === 403 ? words.restarted : error.message);
  reportError(error); // a bug: let it show
  showBanner(String(error));
}

// Attempts

/**
 * Run an action; if it fails, report it.
 *
 * @template T
 * @param {() => T | Promise<T>} work
 */
export async function attempt(work) {
  try {
    const result = await work();
    if (lost) await hurry();
    return result;
  } catch (error) {
    report(error);
  }
}

/** @param {unknown} error */
export function report(error) {
  if (isServerGone(error)) showLost(error);
  else if (!(error instanceof Refused)) reportError(error); // a bug: let it show
  const isSilent = error instanceof Refused && isServerGone(error);
  say(isSilent ? "Not confirmed: see the message above." : error instanceof Error ? error.message : String(error), true);
}

/** Load what others decided now. */
export const hurry = () => load().catch(showLost);

/** Load it now and then. */
export async function poll() {
  if (!document.hidden || lost) await hurry();
  setTimeout(poll, POLL);
}
