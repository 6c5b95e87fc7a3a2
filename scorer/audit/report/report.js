// Enhances a page that is complete without it: sorting of tables, search among the worst rows.
(() => {
  "use strict";
  document.documentElement.classList.add("js");
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  // What is missing goes last in either direction.
  const ordered = (items, key, numeric, down) => {
    const keyed = items.map((item) => ({ item, value: key(item) }));
    keyed.sort((a, b) => {
      if (a.value === "" || b.value === "") return (a.value === "") - (b.value === "");
      const order = numeric ? Number(a.value) - Number(b.value) : collator.compare(a.value, b.value);
      return down ? -order : order;
    });
    return keyed.map(({ item }) => item);
  };

  const sortBy = (table, head, index) => {
    const numeric = head.dataset.sort === "number";
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[index];
      return cell.dataset.by ?? (numeric ? "" : cell.textContent.trim());
    };
    const body = table.tBodies[0];
    body.append(...ordered([...body.rows], key, numeric, down));
  };

  // On a narrow screen each cell shows its heading.
  for (const table of document.querySelectorAll("table")) {
    const titles = [...table.tHead.rows[0].cells].map((head) => head.firstChild?.textContent ?? "");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, index) => { cell.dataset.label = titles[index]; });
    }
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (!head.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      const notes = head.querySelectorAll(".note");
      button.textContent = head.firstChild?.textContent ?? "";
      head.replaceChildren(button, ...notes);
      button.addEventListener("click", () => sortBy(table, head, index));
    });
  }

  const list = document.querySelector(".cases");
  if (list) {
    const cases = [...list.children];
    const texts = new Map(cases.map((item) => [item, item.textContent.toLowerCase()]));
    const find = document.getElementById("find");
    const kind = document.getElementById("kind");
    const found = document.getElementById("found");
    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const item of list.children) {
        const fits = (!kind.value || item.dataset.kind === kind.value) && words.every((word) => texts.get(item).includes(word));
        shown += fits;
        item.hidden = !fits;
      }
      found.textContent = `${shown} of ${cases.length} rows found`;
    };
    find.addEventListener("input", filter);
    kind.addEventListener("change", filter);
    filter();
  }

  // Inside a notebook the page has no address of its own, so a link to a part of it would leave it.
  if (location.protocol === "about:") {
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      const target = link && document.getElementById(link.getAttribute("href").slice(1));
      if (!target) return;
      event.preventDefault();
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }
})();
