// Requests to the server, and errors when it does not respond.

export const API = new URL("../api/", import.meta.url);
const PATIENCE = 10_000; // milliseconds until a request is given up
const SLOW = 3_000; // milliseconds until the page says that it is waiting

/** The server did not respond: the request may or may not have taken effect. */
export class Lost extends Error {}

/** The server refused the request, with a status, a reason, and what else it answered. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {any} found
   */
  constructor(status, found) {
    super(found.error ?? `The server responded with status ${status}.`);
    this.status = status;
    this.found = found;
  }
}

/** Whether a failure is about the server or its files, and not about the request: 403 means another token. */
export const isServerGone = (/** @type {unknown} */ error) =>
  error instanceof Lost || (error instanceof Refused && (error.status === 403 || error.status >= 500));

let noteSlow = () => {};
/** Set what to do when a request takes long. */
export const whenSlow = (/** @type {() => void} */ work) => (noteSlow = work);

/**
 * @param {string} path
 * @param {Record<string, string>} [words]
 * @returns {Promise<any>}
 */
export const get = (path, words = {}) => ask("GET", `${path}?${new URLSearchParams(words)}`);

/**
 * @param {string} path
 * @param {object} body
 * @returns {Promise<any>}
 */
export const post = (path, body, patience = PATIENCE) => ask("POST", path, JSON.stringify(body), patience);

/**
 * @param {string} method
 * @param {string} path
 * @param {string} [body]
 */
async function ask(method, path, body, patience = PATIENCE) {
  let answer, found;
  const slow = setTimeout(() => noteSlow(), SLOW);
  try {
    const headers = body === undefined ? undefined : { "content-type": "application/json" };
    answer = await fetch(new URL(path, API), { method, body, headers, signal: AbortSignal.timeout(patience) });
    found = await answer.json();
  } catch {
    if (answer && answer.status >= 500) throw new Refused(answer.status, { error: "The server failed: see its messages." });
    throw new Lost(method === "GET" ? "The server is not responding." : "This may not have been stored.");
  } finally {
    clearTimeout(slow);
  }
  if (!answer.ok) throw new Refused(answer.status, found);
  return found;
}
