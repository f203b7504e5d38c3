// What the page knows, and the address, which holds the filter, the page and the row, so that a reload keeps them.

/** @typedef {import("./types.js").Filter} Filter */

export const PAGE = 50; // issues in the list
const PAUSE = 250; // milliseconds between changes of the address: browsers ignore more than about 200 in 30 s
/** @type {Filter} */
export const EVERYTHING = {
  search: "", status: "open", given: "", suggested: "", low: "", high: "", column: "", value: "", who: "", verdict: "", note: "",
  sort: "worst",
};
const NAMES = /** @type {(keyof Filter)[]} */ (Object.keys(EVERYTHING));

export const isSmall = window.matchMedia("(max-width: 760px)"); // the list and the issue take turns
export const isWide = window.matchMedia("(min-width: 1400px)"); // there are two columns of texts
export const isTight = window.matchMedia("(max-width: 1100px), (max-height: 700px)"); // the filter is folded

export const state = {
  meta: /** @type {import("./types.js").Meta | null} */ (null),
  counts: /** @type {import("./types.js").Counts | null} */ (null),
  filter: { ...EVERYTHING },
  page: 0,
  total: 0,
  issues: /** @type {import("./types.js").Brief[]} */ ([]), // on this page
  row: /** @type {number | null} */ (null), // the chosen one
  place: 0, // position of that row on the page, or where it was
  issue: /** @type {import("./types.js").Issue | null} */ (null), // all about that row, once it is loaded
  last: 0, // number of the last action that we know of
  listed: 0, // number of the last action that the list shows
};

/** Whether rows leave the list as soon as they are decided. */
export const isQueue = () => ["open", "second", "disputed"].includes(state.filter.status);

const GLANCE = 600; // milliseconds in which nobody reads what appears without their doing: keys are meant for what was there
let appeared = -Infinity;
export const noteSudden = () => void (appeared = performance.now());
export const isSudden = () => performance.now() - appeared < GLANCE;

/** What stays the same; there is no list without it. */
export function getMeta() {
  if (state.meta === null) throw new Error("The page has not started yet.");
  return state.meta;
}

export const lastPage = () => Math.max(0, Math.ceil(state.total / PAGE) - 1);
export const isNarrow = () => NAMES.some((name) => !["status", "column", "sort"].includes(name) && state.filter[name] !== "");
export const isUnfiltered = () => NAMES.every((name) => state.filter[name] === EVERYTHING[name]);

/** A filter as the server expects it: shares instead of per cent, no empty values. */
export function askedFilter(/** @type {Partial<Filter>} */ filter = state.filter) {
  const asked = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ""));
  for (const name of ["low", "high"]) if (name in asked) asked[name] = String(Number(asked[name]) / 100);
  return asked;
}

// The address

let known = /** @type {string | null} */ (null); // the address that this page wrote or read last
let pause = 0;

/** Write the address now and then; one that somebody else changed is read first. */
export function keepAddress() {
  if (pause || isForeignAddress()) return;
  writeAddress();
  pause = setTimeout(() => {
    pause = 0;
    if (!isForeignAddress()) writeAddress();
  }, PAUSE);
}

export function writeAddress() {
  const words = new URLSearchParams();
  for (const name of NAMES) if (state.filter[name] !== EVERYTHING[name]) words.set(name, state.filter[name]);
  if (state.page) words.set("page", String(state.page + 1));
  if (state.row !== null) words.set("row", String(state.row));
  const address = String(words) && `#${words}`;
  if (address === known && location.hash === known && history.state) return;
  history.replaceState(history.state ?? { side: "list" }, "", address); // an entry without a state is a link
  known = location.hash;
}

/** Read the address again when the server is back. */
export const forgetAddress = () => void (known = null);

/** Whether somebody else changed the address: a link was followed, or it was typed. */
export const isForeignAddress = () => location.hash !== known;

/** Treat the address as ours from now on. */
export const ownAddress = () => void (known = location.hash);

/** Take filter and page from the address, and return the row that it names. */
export function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const name of NAMES) state.filter[name] = words.get(name) ?? EVERYTHING[name];
  state.page = Math.max(0, (Number.parseInt(words.get("page") ?? "", 10) || 1) - 1);
  const row = Number.parseInt(words.get("row") ?? "", 10);
  return row > 0 ? row : null;
}
