// Enhances a page that is complete without it.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  // On a narrow screen each cell shows its heading.
  for (const table of document.querySelectorAll("table")) {
    const titles = [...table.tHead.rows[0].cells].map((head) => head.firstChild?.textContent ?? "");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, index) => { cell.dataset.label = titles[index]; });
    }
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
