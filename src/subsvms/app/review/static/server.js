// Talks to the server, and notices when it is gone.

const API = new URL("../api/", import.meta.url);
const PATIENCE = { GET: 15_000, POST: 120_000 }; // milliseconds; deciding about 100,000 rows takes a while

/** The server did not answer: what was asked for is not known to have happened. */
export class Lost extends Error {}

/** The server said no, in a sentence. */
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
    const doubt = method === "GET" ? "" : ": this is not known to be stored";
    if (answer && answer.status >= 500) throw new Refused(`The server made a mistake${doubt}.`);
    throw new Lost(`The server does not answer${doubt}.`);
  }
  if (!answer.ok) throw new Refused(found.error ?? `The server answered ${answer.status}.`);
  return found;
}
