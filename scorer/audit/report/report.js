// Enhances a page that is complete without it: sorting of tables, search among the worst rows, details in print.
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
    const order = document.getElementById("order");
    const found = document.getElementById("found");
    const more = document.getElementById("more");
    const step = 10;
    let most = step;
    const filter = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const item of list.children) {
        const fits = (!kind.value || item.dataset.kind === kind.value) && words.every((word) => texts.get(item).includes(word));
        shown += fits;
        item.hidden = !fits || shown > most;
      }
      more.hidden = shown <= most;
      more.textContent = `Show ${Math.min(step, shown - most)} more of ${shown}`;
      found.textContent = `${shown} of ${cases.length} rows found`;
    };
    const sort = () => {
      const [name, direction] = order.value.split(" ");
      const numeric = name !== "file";
      list.append(...ordered(cases, (item) => item.dataset[name] ?? "", numeric, direction === "down"));
      filter();
    };
    find.addEventListener("input", filter);
    kind.addEventListener("change", filter);
    order.addEventListener("change", sort);
    more.addEventListener("click", () => {
      most += step;
      filter();
    });
    filter();
  }

  // Files opened from a disk may have no clipboard; a selected text can be copied everywhere.
  const copySelected = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  for (const button of document.querySelectorAll(".copy")) {
    const words = button.textContent;
    button.addEventListener("click", async () => {
      const text = button.dataset.copy;
      const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
      button.textContent = done || copySelected(text) ? "Copied" : text;
      button.focus();
      window.setTimeout(() => { button.textContent = words; }, 4000);
    });
  }

  // Inside a notebook the page has no address of its own, so a link to a part of it would leave it.
  if (document.documentElement.dataset.embedded) {
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      const target = link && document.getElementById(link.getAttribute("href").slice(1));
      if (!target) return;
      event.preventDefault();
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }

  // Paper has nothing to open; rows behind "Show more" stay out of it.
  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      opened.push(details);
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
})();
