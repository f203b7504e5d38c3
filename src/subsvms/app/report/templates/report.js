"use strict";
// Headers of tables become buttons that sort. Without scripts the tables are as they were made: worst first.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.querySelectorAll("thead th[data-sort]")];
  const items = () => (table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies[0].rows]);
  const read = (item, place) => {
    const cell = (item.rows ? item.rows[0] : item).cells[place];
    const number = cell.dataset.v;
    return number === undefined ? cell.textContent.trim() : number === "" ? null : Number(number);
  };
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("role", "status");
  table.after(said);
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.sort;
      const now = head.getAttribute("aria-sort");
      const way = now === null ? first : now === "ascending" ? "descending" : "ascending";
      const sign = way === "ascending" ? 1 : -1;
      const keyed = items().map((item) => [read(item, head.cellIndex), item]);
      keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * order(a, b)));
      for (const [, item] of keyed) item.parentNode.append(item);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way);
      said.textContent = `Sorted by ${button.textContent.trim()}, ${way}.`;
    });
  }
}
