// Connects keys, fields and buttons to the actions of the page.

import { isAsking } from "./dialogs.js";

const PAUSE = 250; // milliseconds after the last letter before the search starts
const REPEATED = new Set(["j", "ArrowDown", "ArrowUp"]); // only these repeat while a key is held down
const isSmall = window.matchMedia("(max-width: 760px)");

const $ = (id) => document.getElementById(id);
const each = (selector, work) => document.querySelectorAll(selector).forEach(work);

export function listen(actions) {
  listenToKeys(actions);
  listenToFilter(actions);
  listenToList(actions);
  listenToButtons(actions);
  listenToDialogs();
  document.addEventListener("visibilitychange", () => document.hidden || actions.hurry());
  window.addEventListener("hashchange", actions.follow);
  isSmall.addEventListener("change", () => ($("filters").open = !isSmall.matches));
}

function listenToKeys({ decide, undo, step, showSide }) {
  const keys = {
    a: () => decide("accept"),
    k: () => decide("keep"),
    l: () => decide("label"),
    s: () => decide("skip"),
    u: undo,
    j: () => step(1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    "/": () => {
      $("filters").open = true;
      showSide("list");
      $("search").select();
    },
    "?": openHelp,
    Escape: () => ($("all").open ? ($("all").open = false) : showSide("list")),
  };
  document.addEventListener("keydown", (event) => {
    if (isAsking()) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = isUndo(event) ? undo : isPlain(event) && Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (act === null) return;
    event.preventDefault();
    if (!event.repeat || REPEATED.has(event.key)) act();
  });
}

export const isPlain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
const isUndo = (event) => event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
export const openHelp = () => $("help-dialog").showModal();

function listenToFilter({ narrow, clear }) {
  const form = $("filter");
  let pause;
  let wasPointed = false; // the last choice was made with a mouse or a finger
  form.addEventListener("pointerdown", () => (wasPointed = true));
  form.addEventListener("keydown", () => (wasPointed = false));
  form.addEventListener("input", ({ target }) => {
    if (target.tagName !== "INPUT") return;
    clearTimeout(pause);
    pause = setTimeout(() => target.validity.valid && narrow({ [target.name]: target.value.trim() }), PAUSE);
  });
  form.addEventListener("change", ({ target }) => {
    if (target.tagName !== "SELECT") return;
    if (wasPointed) target.blur(); // otherwise the next key would choose another entry
    narrow({ [target.name]: target.value });
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.activeElement.blur();
  });
  $("clear").onclick = clear;
}

function listenToList({ choose, turnPage, goToPage, narrow, clear }) {
  $("lines").onclick = ({ target }) => {
    const line = target.closest("[data-row]");
    if (line) choose(Number(line.dataset.row));
  };
  $("nothing").onclick = ({ target }) => {
    const offer = target.closest("[data-offer]");
    if (offer) offer.dataset.offer ? narrow({ status: offer.dataset.offer }) : clear();
  };
  $("page-back").onclick = () => turnPage(-1);
  $("page-on").onclick = () => turnPage(1);
  $("page").onchange = () => goToPage(($("page").valueAsNumber || 1) - 1);
  $("pager").onsubmit = (event) => event.preventDefault();
}

function listenToButtons({ decide, decideAll, undo, step, showSide, changeName }) {
  each("[data-verdict]", (button) => (button.onclick = () => decide(button.dataset.verdict)));
  each("[data-all]", (button) => {
    button.onclick = () => {
      $("all").open = false;
      decideAll(button.dataset.all);
    };
  });
  document.addEventListener("click", ({ target }) => $("all").contains(target) || ($("all").open = false));
  $("next").onclick = () => step(1);
  $("previous").onclick = () => step(-1);
  $("undo").onclick = undo;
  $("back").onclick = () => showSide("list");
  $("help-button").onclick = openHelp;
  $("person").onclick = changeName;
}

export function listenToDialogs() {
  each("[data-close]", (button) => (button.onclick = () => button.closest("dialog").close(button.dataset.close)));
  each("dialog form", (form) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      form.closest("dialog").close("yes");
    };
  });
}
