// Marks what was searched for, in the list and in the chosen row. Nothing of the page is changed for it: a browser that
// cannot paint ranges shows the page without them.

import { all } from "./elements.js";
import { state } from "./state.js";

const SEARCHED = "#lines .preview bdi, #issue :is(.text, .value, .excerpt)";
const MOST = 500; // marks

/** Mark all places with the text of the search. */
export function markHits() {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("hit");
  const text = state.filter.search.trim().toLowerCase();
  if (text === "") return;
  const found = all(SEARCHED).flatMap((part) => findHits(part, text)).slice(0, MOST);
  if (found.length) CSS.highlights.set("hit", new Highlight(...found));
}

/**
 * The places of a text in a part of the page, also where words in it are marked.
 *
 * @param {HTMLElement} part
 * @param {string} text in lower case
 */
function findHits(part, text) {
  const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  /** @type {[node: Node, end: number][]} */
  const pieces = [];
  while (walk.nextNode()) pieces.push([walk.currentNode, (pieces.at(-1)?.[1] ?? 0) + (walk.currentNode.nodeValue ?? "").length]);
  const words = (part.textContent ?? "").toLowerCase();
  const ranges = [];
  if (words.length !== (pieces.at(-1)?.[1] ?? 0)) return []; // letters that are longer in lower case
  for (let at = words.indexOf(text); at >= 0; at = words.indexOf(text, at + text.length)) {
    const range = new Range();
    const [[first, , begins], [last, , starts]] = [at, at + text.length - 1].map((place) => {
      const number = pieces.findIndex(([, end]) => place < end);
      return /** @type {[Node, number, number]} */ ([...pieces[number], pieces[number - 1]?.[1] ?? 0]);
    });
    range.setStart(first, at - begins);
    range.setEnd(last, at + text.length - starts);
    ranges.push(range);
  }
  return ranges;
}
