for (const table of document.querySelectorAll("table.sortable:not([data-ready])")) {
  table.dataset.ready = "yes";
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, k) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.cells[k];
        const text = cell.dataset.number ?? cell.textContent.trim();
        return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
      };
      const rows = [...table.tBodies[0].rows].filter((row) => !row.classList.contains("total"));
      const last = [...table.tBodies[0].rows].filter((row) => row.classList.contains("total"));
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows, ...last);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
