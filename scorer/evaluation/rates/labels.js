"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll("#choices button")];
  const total = data.items.length;
  let stored = true;
  let answers = {};
  let at = 0;

  function load() {
    try {
      const kept = JSON.parse(localStorage.getItem(data.store) || "{}");
      answers = kept.answers || {};
      at = Math.min(Math.max(Number(kept.at) || 0, 0), total - 1);
    } catch (error) {
      answers = {};
    }
  }

  function keep() {
    try {
      localStorage.setItem(data.store, JSON.stringify({ answers, at }));
      stored = true;
    } catch (error) {
      stored = false;
    }
  }

  const answer = (row) => answers[row] || { label: "", comment: "" };
  const labelled = () => data.items.filter((item, row) => answer(row).label).length;

  function show() {
    const item = data.items[at];
    const now = answer(at);
    find("place").textContent = `Row ${at + 1} of ${total}`;
    find("facts").replaceChildren(...item.facts.map((fact) => {
      const line = document.createElement("li");
      line.textContent = fact;
      return line;
    }));
    const blank = !item.text.trim();
    find("text").textContent = blank ? "(empty text)" : item.text;
    find("text").classList.toggle("empty", blank);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.label === now.label));
    find("comment").value = now.comment;
    find("back").disabled = at === 0;
    find("next").disabled = at === total - 1;
    const done = labelled();
    find("progress").textContent = `${done} of ${total} rows labelled`;
    find("bar").value = done;
    find("kept").textContent = stored
      ? "Labels are kept in this browser until you remove them. Save them as CSV when you are done."
      : "This browser does not keep labels: save them as CSV before you close the page.";
  }

  function go(row) {
    at = Math.min(Math.max(row, 0), total - 1);
    keep();
    show();
  }

  function nextOpen() {
    for (let step = 1; step <= total; step += 1) {
      const row = (at + step) % total;
      if (!answer(row).label) return go(row);
    }
    return go(at);
  }

  function choose(label) {
    answers[at] = { ...answer(at), label };
    keep();
    if (label && at < total - 1) go(at + 1);
    else show();
  }

  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

  function save() {
    const lines = [data.columns, ...data.items.map((item, row) => {
      const cells = [...item.cells];
      cells[data.label] = answer(row).label;
      cells[data.comment] = answer(row).comment;
      return cells;
    })];
    const text = "\ufeff" + lines.map((cells) => cells.map(quoted).join(",") + "\r\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = data.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.label));
  find("comment").addEventListener("input", (event) => {
    answers[at] = { ...answer(at), comment: event.target.value };
    keep();
  });
  find("back").addEventListener("click", () => go(at - 1));
  find("next").addEventListener("click", () => go(at + 1));
  find("open").addEventListener("click", nextOpen);
  find("save").addEventListener("click", save);
  find("clear").addEventListener("click", () => {
    if (!window.confirm(`Remove all ${labelled()} labels from this browser?`)) return;
    answers = {};
    go(0);
  });

  const keys = {
    1: () => choose("OK"),
    2: () => choose("omission"),
    3: () => choose("hallucination"),
    4: () => choose("omission+hallucination"),
    0: () => choose(""),
    n: nextOpen,
    s: save,
    c: () => find("comment").focus(),
    ArrowLeft: () => go(at - 1),
    ArrowRight: () => go(at + 1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.id === "comment") {
      if (event.key === "Enter" || event.key === "Escape") event.target.blur();
      return;
    }
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  load();
  show();
})();
