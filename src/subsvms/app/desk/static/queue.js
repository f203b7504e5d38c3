// Answers on the way to the server: sent one after another in the order in which they were given; none is dropped.
//
// The page shows the next row at once and does not wait. An answer that the server did not confirm is sent again once
// the server responds; one that it refused is given back to the person.

import { attempt, hurry, isLost, report, showLost, whenBack } from "./connection.js";
import { isServerGone } from "./server.js";

/**
 * @typedef {object} Answer
 * @property {number[]} rows that are decided by it
 * @property {(isAgain: boolean) => Promise<void>} send
 * @property {boolean} [isRepeatable] whether it can be sent again without harm
 * @property {(error: unknown) => void} [giveBack] called if it was not stored
 */

/** @type {Answer[]} */
const waiting = []; // the first is being sent
/** @type {(length: number) => void} */
let noteLength = () => {};

/** @param {(length: number) => void} work called with the number of answers on the way whenever it changes */
export const whenLengthChanges = (work) => (noteLength = work);

export const countWaiting = () => waiting.length;
export const isWaiting = (/** @type {number} */ row) => waiting.some((answer) => answer.rows.includes(row));
export const listWaiting = () => waiting.flatMap((answer) => answer.rows);

/** @param {Answer} answer */
export function enqueue(answer) {
  waiting.push(answer);
  noteLength(waiting.length);
  if (waiting.length === 1) void sendAll();
}

async function sendAll() {
  while (waiting.length) {
    await deliver(waiting[0]);
    waiting.shift();
    noteLength(waiting.length);
  }
}

/** @param {Answer} answer */
async function deliver(answer) {
  for (let isAgain = false; ; isAgain = true) {
    try {
      await answer.send(isAgain);
      if (isLost()) await hurry();
      return;
    } catch (error) {
      if (!answer.isRepeatable || !isServerGone(error)) return giveBack(answer, error);
      showLost(error);
      await whenBack();
    }
  }
}

/**
 * @param {Answer} answer
 * @param {unknown} error
 */
function giveBack(answer, error) {
  if (answer.giveBack && !isServerGone(error)) return attempt(() => answer.giveBack?.(error));
  report(error);
}
