// Long tables get a filter and headings that sort. Without scripts they are plain tables.
"use strict";
document.querySelectorAll("article table.docutils").forEach((table) => {
  const body = table.tBodies[0], heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (!body || body.rows.length < 10 || !heads.length) return;
  const bar = document.createElement("p"), box = document.createElement("input"), count = document.createElement("output");
  bar.className = "table-filter";
  box.type = "search";
  box.placeholder = "Filter, such as refuted";
  box.setAttribute("aria-label", "Filter the rows of the table");
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${body.rows.length} rows`;
  };
  box.addEventListener("input", show);
  bar.append(box, count);
  (table.closest(".table-wrapper") || table).before(bar);
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;  // a button needs a name
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.querySelector("p") ? head.querySelector("p").childNodes : head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending", text = (row) => row.cells[column].textContent.trim();
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => text(a).localeCompare(text(b), "en", { numeric: true }));
      body.append(...(down ? rows.reverse() : rows));
    });
  });
  show();
});
