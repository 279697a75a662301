"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const cases = [...document.querySelectorAll("details.case")];
  if (!by("filters")) return;
  const texts = cases.map((entry) => entry.textContent.toLowerCase());
  const filter = () => {
    const wanted = by("search").value.trim().toLowerCase(), status = by("status").value;
    let shown = 0;
    cases.forEach((entry, n) => {
      const fits = (!status || entry.dataset.status === status) && texts[n].includes(wanted);
      entry.hidden = !fits;
      shown += fits;
    });
    by("shown").textContent = `${shown} of ${cases.length} shown`;
  };
  const open = (state) => cases.forEach((entry) => { if (!entry.hidden) entry.open = state; });
  by("filters").hidden = cases.length < 2;
  by("filters").addEventListener("submit", (event) => event.preventDefault());
  by("search").addEventListener("input", filter);
  by("status").addEventListener("change", filter);
  by("open").addEventListener("click", () => open(true));
  by("close").addEventListener("click", () => open(false));
})();
