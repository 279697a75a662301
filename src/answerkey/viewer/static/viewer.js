"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Search while typing: only the table is fetched, and the address follows.
  const table = document.getElementById("cases"), form = document.getElementById("filters");
  const refresh = async () => {
    const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const address = `${table.dataset.address}?${wanted}`;
    const reply = await fetch(`${address}${wanted.size ? "&" : ""}part=cases`);
    if (!reply.ok || `${new URLSearchParams([...new FormData(form)].filter(([, value]) => value))}` !== `${wanted}`) return;
    table.innerHTML = await reply.text();
    showColumns();
    history.replaceState(null, "", address);
  };
  if (table && form) {
    let waiting;
    form.addEventListener("input", (event) => {
      if (event.target.type === "checkbox") return;
      clearTimeout(waiting);
      waiting = setTimeout(refresh, event.target.tagName === "SELECT" ? 0 : 120);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  }

  // A list that is filtered in place.
  all("input[data-filter]").forEach((input) => input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    all(`#${input.dataset.filter} tbody tr`).forEach((row) => {
      const suite = row.closest("[data-suite]")?.dataset.suite || "";
      row.hidden = !`${suite} ${row.textContent}`.toLowerCase().includes(wanted);
    });
    all(`#${input.dataset.filter} [data-suite]`).forEach((part) => { part.hidden = !part.querySelector("tbody tr:not([hidden])"); });
  }));

  // Lists that are sorted in place: a click sorts, another one turns the order round.
  all("table.sortable th[data-sortable]").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const body = head.closest("table").tBodies[0], at = head.cellIndex;
      const down = head.getAttribute("aria-sort") === "ascending";
      const key = (row) => row.cells[at].dataset.sort ?? row.cells[at].textContent;
      const order = (a, b) => (isNaN(key(a)) || isNaN(key(b)) ? key(a).localeCompare(key(b)) : key(a) - key(b));
      all("th", head.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...[...body.rows].sort((a, b) => (down ? -order(a, b) : order(a, b))));
    });
  });

  // The bar that names the two chosen runs.
  all("#runs input[type=radio]").forEach((radio) => radio.addEventListener("change", () => {
    document.querySelector(`[data-chosen="${radio.name}"]`).textContent = radio.value;
  }));

  // Columns: chosen once, kept in this browser.
  const boxes = all(".columns input");
  const showColumns = () => {
    const chosen = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    all("#cases [data-column]").forEach((cell) => { cell.hidden = !chosen.has(cell.dataset.column); });
  };
  if (table && boxes.length) {
    try {
      const kept = JSON.parse(localStorage.getItem("answerkey-columns") || "[]");
      boxes.forEach((box) => { box.checked = kept.includes(box.value); });
    } catch { /* a browser without storage shows the usual columns */ }
    showColumns();
    boxes.forEach((box) => box.addEventListener("change", () => {
      showColumns();
      try { localStorage.setItem("answerkey-columns", JSON.stringify(boxes.filter((each) => each.checked).map((each) => each.value))); } catch { /* not kept */ }
    }));
  }

  // Keys.
  const move = (step) => {
    const links = all(".case-link");
    if (links.length) {
      const at = links.indexOf(document.activeElement);
      const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
      return;
    }
    const turn = document.querySelector(step > 0 ? "a[rel=next]" : "a[rel=prev]");
    if (turn) turn.click();
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select") && event.target.type !== "radio";
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      "/": () => document.getElementById("search")?.focus(),
      j: () => move(1),
      k: () => move(-1),
      u: () => document.getElementById("up")?.click(),
      n: () => document.getElementById("note")?.focus(),
    };
    const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (button) button.click();
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });

  // A run in progress.
  const live = document.getElementById("live");
  if (live) {
    const part = (name) => live.querySelector(`[data-live="${name}"]`);
    const put = (name, text) => { part(name).textContent = text; };
    const number = (value, digits = 3) => (value === null ? "-" : value.toLocaleString("en", { maximumFractionDigits: digits }));
    const clock = (seconds) => seconds === null ? "-" : seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
    const tones = { PERFECT: "good", PASSED: "good", ACCEPTABLE: "fair", FAILED: "bad", ERROR: "failed", UNSCORED: "plain", SCORED: "plain" };
    const row = (entry) => {
      const line = document.createElement("tr");
      const cell = (text, kind) => {
        const made = document.createElement("td");
        made.className = kind;
        made.textContent = text;
        line.append(made);
        return made;
      };
      const badge = document.createElement("span");
      badge.className = `badge ${tones[entry.status] || "warn"}`;
      badge.textContent = entry.status;
      cell("", "").append(badge);
      cell(number(entry.score), "n");
      cell(entry.id, "metric");
      cell(entry.why, "");
      return line;
    };
    const show = (now) => {
      put("state", now.state);
      put("summary", `${number(now.done)} of ${number(now.of)} cases scored`);
      Object.assign(part("progress"), { max: now.of || 1, value: now.done });
      put("done", number(now.done));
      put("answered", number(now.answered));
      put("passed", now.done ? `${number(now.passed)} (${Math.round((100 * now.passed) / now.done)} %)` : "-");
      put("mean", number(now.mean_score));
      put("rate", number(now.rate, 1));
      put("left", clock(now.seconds_left));
      put("statuses", Object.entries(now.statuses).map(([status, count]) => `${status} ${number(count)}`).join(", "));
      part("latest").replaceChildren(...now.latest.map(row));
      part("over").hidden = now.state === "in progress";
    };
    const events = new EventSource(live.dataset.events);
    events.onmessage = (event) => show(JSON.parse(event.data));
    events.addEventListener("done", (event) => { show(JSON.parse(event.data)); events.close(); });
    addEventListener("pagehide", () => events.close());
  }
  document.documentElement.dataset.ready = "";  // every key and button works from here on
})();
