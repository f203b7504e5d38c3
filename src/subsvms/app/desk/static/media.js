// Pictures and sounds that a table names. The server finds the file by row and column; what lies on the web is loaded from
// hosts that were allowed, and from no other: the policy of the page says so, too.

import { make, makeLabel, makeValue } from "./elements.js";
import { API, get, Refused } from "./server.js";
import { state } from "./state.js";
import { count } from "./words.js";

/** @typedef {import("./types.js").Issue} Issue */
/** @typedef {{ media: Record<string, "image" | "audio">, hosts: string[] }} Known */

/** @type {WeakMap<Issue, Map<string, HTMLImageElement>>} */
const loaded = new WeakMap(); // pictures of rows that may be shown next: each is in one place of the page
const REST = 300; // milliseconds that a row is shown before the pictures of similar rows are loaded, which keys would wait for

/**
 * Where a picture or sound is loaded from; null if it is on a host that was not allowed.
 *
 * @param {Known} known
 * @param {number} row
 * @param {string} column
 * @param {string} value
 */
function locate({ hosts }, row, column, value) {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(value.trim())) return new URL(`media/${row}?${new URLSearchParams({ column })}`, API).href;
  const url = URL.canParse(value.trim()) ? new URL(value.trim()) : null;
  return url && hosts.includes(url.origin) ? url.href : null;
}

/** @param {string} url */
function loadPicture(url, pause = 0) {
  const picture = make("img", { referrerpolicy: "no-referrer", decoding: "async" });
  if (!(picture instanceof HTMLImageElement)) throw new Error("This browser makes no pictures.");
  if (pause) setTimeout(() => picture.isConnected && (picture.src = url), pause);
  else picture.src = url;
  return picture;
}

/** Load the picture of a row before it is shown. */
export function preload(/** @type {Issue} */ issue) {
  const { meta } = state;
  const columns = meta ? issue.columns.map(({ name: column }, place) => ({ column, place })).filter(({ column }) => meta.media[column] === "image") : [];
  if (meta === null || columns.length === 0) return;
  const found = new Map();
  for (const { column, place } of columns) {
    const url = issue.values[place] && locate(meta, issue.row, column, issue.values[place]);
    if (url) found.set(url, loadPicture(url));
  }
  for (const picture of found.values()) picture.decode().catch(() => {}); // whoever shows it says what is wrong
  loaded.set(issue, found);
}

/**
 * A picture that a press enlarges, or a sound; null for a column that names none.
 *
 * @param {Known} known
 * @param {number} row
 * @param {string} column
 * @param {string} value
 * @param {Issue | null} issue of which pictures may be loaded already
 */
export function makeMedium(known, row, column, value, issue = null, pause = 0) {
  const kind = Object.hasOwn(known.media, column) ? known.media[column] : null;
  if (kind === null || value === "") return null;
  const url = locate(known, row, column, value);
  const what = kind === "image" ? "picture" : "sound";
  if (url === null) return makeMissing(value, `A ${what} on the web is shown if its host is allowed: see --media-from.`);
  const title = `${column}: ${value}`;
  const fail = () => void why(row, column, url).then((words) => whole.replaceWith(makeMissing(value, words)));
  const sound = kind === "audio" ? make("audio", { controls: true, preload: "none", src: url, "aria-label": title, class: "medium" }) : null;
  const picture = sound === null ? ((issue && loaded.get(issue)?.get(url)) ?? loadPicture(url, pause)) : null;
  const whole = sound ?? make("button", { type: "button", class: "picture medium", "aria-expanded": "false" }, picture);
  if (sound) sound.onerror = fail;
  if (picture) {
    picture.alt = title;
    picture.onerror = fail;
    if (picture.complete && picture.naturalWidth === 0 && picture.src) setTimeout(fail);
    whole.onclick = () => whole.setAttribute("aria-expanded", String(whole.getAttribute("aria-expanded") !== "true"));
  }
  return whole;
}

/**
 * Why something is not shown.
 *
 * @param {number} row
 * @param {string} column
 * @param {string} url
 */
async function why(row, column, url) {
  if (!url.startsWith(API.href)) return "The host does not send it.";
  return get(`media/${row}`, { column }).then(() => "", (error) => (error instanceof Refused ? error.message : "The browser cannot show this file."));
}

/**
 * @param {string} value
 * @param {string} words
 */
const makeMissing = (value, words) => make("span", { class: "no-medium" }, makeValue(value), " ", make("span", { class: "soft" }, words));

/** The pictures and sounds of a row, and of those that speak for and against the suggestion. */
export function makeMedia(/** @type {Issue} */ issue) {
  const { meta } = state;
  const columns = meta ? issue.columns.map(({ name: column }, place) => ({ column, place })).filter(({ column }) => column in meta.media) : [];
  if (meta === null || columns.length === 0) return null;
  const show = (/** @type {number} */ row, /** @type {string[]} */ values) =>
    columns.map(({ column, place }) => makeMedium(meta, row, column, values[place], issue, row === issue.row ? 0 : REST) ?? makeValue(values[place]));
  const side = (/** @type {string} */ kind, /** @type {(Node | string)[]} */ title, /** @type {import("./types.js").Witness[]} */ rows) =>
    rows.length === 0 ? null : make(
      "div", { class: `side ${kind}` }, make("h3", {}, ...title),
      ...rows.map(({ row, label, values }) => make("figure", {}, ...show(row, values), make("figcaption", {}, `Row ${count(row)}, `, makeLabel(label)))),
    );
  return make(
    "div", { class: "media" }, make("div", { class: "own" }, ...show(issue.row, issue.values)),
    side("for", ["For ", makeLabel(issue.suggested)], issue.supporting), side("against", ["Against it"], issue.opposing),
  );
}

/** Enlarge the first picture that is shown, or make it small again; or play the first sound, or pause it. */
export function openMedia() {
  const first = document.querySelector(".medium");
  if (first instanceof HTMLAudioElement) return void (first.paused ? first.play().catch(() => {}) : first.pause());
  if (first instanceof HTMLElement) first.click();
}
