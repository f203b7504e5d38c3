// Connects fields and buttons to the actions of the page.

import { listenToDialogs } from "./dialogs.js";
import { $, all, around } from "./elements.js";
import { isTight } from "./state.js";

/** @typedef {import("./types.js").Filter} Filter */
/** @typedef {import("./types.js").Verdict} Verdict */

/**
 * @typedef {object} Actions
 * @property {(verdict: Verdict) => unknown} decide
 * @property {(label: string) => unknown} giveLabel
 * @property {(number: number) => unknown} giveNumber
 * @property {() => unknown} giveOtherLabel
 * @property {(verdict: Verdict) => unknown} decideAll
 * @property {() => unknown} undo
 * @property {() => unknown} redo
 * @property {() => unknown} openNote
 * @property {() => unknown} closeNote
 * @property {() => unknown} keepDraft
 * @property {() => unknown} unfoldWitnesses
 * @property {(by: number) => unknown} scrollRow
 * @property {(by: number) => unknown} step
 * @property {(row: number) => unknown} choose
 * @property {(by: number) => unknown} turnPage
 * @property {(page: number) => unknown} goToPage
 * @property {(changes: Partial<Filter>) => unknown} narrow
 * @property {() => unknown} clear
 * @property {() => unknown} search
 * @property {() => unknown} escape
 * @property {() => unknown} goBack
 * @property {() => unknown} changeName
 * @property {() => unknown} openHelp
 */

const PAUSE = 250; // milliseconds after the last letter before the search starts

/** @param {Actions} actions */
export function listen(actions) {
  listenToFilter(actions);
  listenToList(actions);
  listenToRow(actions);
  listenToButtons(actions);
  listenToDialogs();
  isTight.addEventListener("change", () => ($("filters", HTMLDetailsElement).open = !isTight.matches));
}

/** @param {Actions} actions */
function listenToFilter({ narrow, clear }) {
  const form = $("filter");
  let pause = 0;
  let wasPointed = false; // the last choice was made with a mouse or a finger
  form.addEventListener("pointerdown", () => (wasPointed = true));
  form.addEventListener("keydown", () => (wasPointed = false));
  form.addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    clearTimeout(pause);
    pause = setTimeout(() => target.validity.valid && narrow({ [target.name]: target.value.trim() }), PAUSE);
  });
  form.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLSelectElement)) return;
    if (wasPointed) target.blur(); // otherwise the next key would choose another entry
    narrow({ [target.name]: target.value });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  $("clear").onclick = clear;
  const more = $("more-filters", HTMLDetailsElement);
  more.ontoggle = () => $("filter-bar").classList.toggle("more-open", more.open);
  $("chips").onclick = (event) => {
    const dropped = around(event, "[data-drop]")?.dataset.drop;
    if (dropped) narrow(Object.fromEntries(dropped.split(" ").map((name) => [name, ""])));
  };
}

/** @param {Actions} actions */
function listenToList({ choose, turnPage, goToPage, narrow, clear }) {
  $("lines").onclick = (event) => {
    const line = around(event, "[data-row]");
    if (line) choose(Number(line.dataset.row));
  };
  $("nothing").onclick = (event) => {
    const offer = around(event, "[data-offer]")?.dataset.offer;
    if (offer !== undefined) offer ? narrow({ status: offer }) : clear();
  };
  $("page-back").onclick = () => turnPage(-1);
  $("page-on").onclick = () => turnPage(1);
  $("page").onchange = () => goToPage(($("page", HTMLInputElement).valueAsNumber || 1) - 1);
  $("pager").onsubmit = (event) => event.preventDefault();
}

/** @param {Actions} actions */
function listenToRow({ keepDraft }) {
  $("issue").onclick = (event) => {
    const unfold = around(event, "[data-unfold]");
    if (!unfold) return;
    const isOpen = unfold.getAttribute("aria-expanded") === "true";
    unfold.setAttribute("aria-expanded", String(!isOpen));
    $(unfold.dataset.unfold ?? "").hidden = isOpen;
  };
  $("note-text").oninput = keepDraft;
}

/** @param {Actions} actions */
function listenToButtons({ decide, giveLabel, giveOtherLabel, openNote, decideAll, undo, redo, step, goBack, changeName, openHelp }) {
  $("bar").onclick = (event) => {
    const button = around(event, "button");
    const { label, verdict } = button?.dataset ?? {};
    if (event.detail && button) button.blur(); // after a click, Space shall scroll and not decide once more
    if (label !== undefined) giveLabel(label);
    else if (verdict !== undefined) decide(/** @type {Verdict} */ (verdict));
  };
  for (const button of all("[data-all]")) {
    button.onclick = () => {
      $("all", HTMLDetailsElement).open = false;
      decideAll(/** @type {Verdict} */ (button.dataset.all));
    };
  }
  document.addEventListener("click", (event) => {
    if (!around(event, "#all")) $("all", HTMLDetailsElement).open = false;
  });
  $("unfold").onclick = () => {
    const isOpen = $("bar").classList.toggle("open");
    $("bar").parentElement?.classList.toggle("open", isOpen);
    $("unfold").setAttribute("aria-expanded", String(isOpen));
    $("unfold").textContent = isOpen ? "Fewer" : "More";
  };
  $("more-labels").onclick = giveOtherLabel;
  $("note-button").onclick = openNote;
  $("next").onclick = () => step(1);
  $("previous").onclick = () => step(-1);
  $("undo").onclick = undo;
  $("redo").onclick = redo;
  $("back").onclick = goBack;
  $("help-button").onclick = openHelp;
  $("person").onclick = changeName;
}
