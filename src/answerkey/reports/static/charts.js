"use strict";
// Draws every .chart from its spec. Expressions are interpreted, never compiled: the page's policy allows no eval.
(() => {
  const charts = [...document.querySelectorAll(".chart")];
  if (!charts.length) return;
  const looks = JSON.parse(document.body.dataset.looks);
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");

  // A page on its own holds the library compressed; the viewer loads it before this script.
  const library = async () => {
    const packed = document.getElementById("vega");
    if (!packed || window.vegaEmbed) return;
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const script = document.createElement("script");
    script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    document.head.append(script);
  };
  const lines = (text, longest) => text.split(" ").reduce((done, word) => {
    const last = done[done.length - 1];
    return last && last.length + word.length < longest ? [...done.slice(0, -1), `${last} ${word}`] : [...done, word];
  }, []);
  const draw = (figure) => {
    const spec = JSON.parse(figure.dataset.spec);
    spec.config = { ...looks[dark.matches ? "dark" : "light"], ...(spec.config || {}) };
    if (typeof spec.width === "number") spec.width = "container";
    if (spec.title?.subtitle) spec.title.subtitle = lines([spec.title.subtitle].flat().join(" "), figure.clientWidth / 6.5);
    return vegaEmbed(figure.querySelector(".plot"), spec, {
      actions: false, ast: true, renderer: "svg", logLevel: vega.Error, defaultStyle: false, tooltip: { disableDefaultStyle: true },
    }).then((drawn) => {
      figure.classList.add("drawn");
      const { parameter, field } = figure.dataset;
      if (!parameter) return;
      figure.classList.add("clickable");
      drawn.view.addEventListener("click", (event, item) => {
        const value = item?.datum?.[field];
        if (typeof value === "string") location.search = new URLSearchParams({ [parameter]: value });
      });
    });
  };
  // A chart in a closed part of the page has no width yet, and is drawn when it is first seen.
  const once = (figure) => {
    if (figure.dataset.asked) return;
    figure.dataset.asked = "1";
    draw(figure);
  };
  const seen = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => once(entry.target)));
  library().then(() => charts.forEach((figure) => { if (figure.clientWidth) once(figure); else seen.observe(figure); }));
  dark.addEventListener("change", () => charts.filter((figure) => figure.dataset.asked).forEach(draw));
})();
