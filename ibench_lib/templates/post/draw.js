"use strict";
// Draws each chart when it comes near the screen, and all of them before printing.
(function () {
  const config = JSON.parse(document.getElementById("chart-config").textContent);

  function draw(figure) {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const chart = JSON.parse(figure.querySelector("script").textContent);
    Plotly.newPlot(figure.querySelector(".plot"), chart.data, chart.layout, config);
  }

  const figures = Array.from(document.querySelectorAll("figure.chart"));
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "800px" }
  );
  figures.forEach((figure) => watcher.observe(figure));
  window.addEventListener("beforeprint", () => figures.forEach(draw));

  // On a small screen the table of contents would push the post away.
  if (window.matchMedia("(max-width: 1099px)").matches) {
    document.querySelector("nav details").removeAttribute("open");
  }
})();
