// Requests to the server, and errors when it does not respond.

const API = new URL("../api/", import.meta.url);
const PATIENCE = { GET: 15_000, POST: 120_000 }; // milliseconds; deciding 100,000 rows takes a while

/** The server did not respond: the request may or may not have taken effect. */
export class Lost extends Error {}

/** The server refused the request, with a reason. */
export class Refused extends Error {}

export const get = (path, words = {}) => ask("GET", `${path}?${new URLSearchParams(words)}`);
export const post = (path, body) => ask("POST", path, JSON.stringify(body));

async function ask(method, path, body) {
  let answer, found;
  try {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    answer = await fetch(new URL(path, API), { method, body, headers, signal: AbortSignal.timeout(PATIENCE[method]) });
    found = await answer.json();
  } catch {
    const doubt = method === "GET" ? "" : ": this may not have been stored";
    if (answer && answer.status >= 500) throw new Refused(`The server failed${doubt}.`);
    throw new Lost(`The server is not responding${doubt}.`);
  }
  if (!answer.ok) throw new Refused(found.error ?? `The server responded with status ${answer.status}.`);
  return found;
}
