"use strict";
// Draws each chart when it comes near the screen, and all of them before printing, as wide as the paper.
(async function () {
  const PAPER_PX = 690; // A4 and US letter with the margins of post.css

  // A link to something that is folded away opens what it is in.
  function unfold() {
    const target = document.getElementById(location.hash.slice(1));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  // On a small screen the table of contents would push the post away.
  if (window.matchMedia("(max-width: 1099px)").matches) {
    document.querySelector("nav details").removeAttribute("open");
  }

  const figures = Array.from(document.querySelectorAll("figure.chart"));
  if (!figures.length) return;
  if (!("DecompressionStream" in window)) {
    document.body.classList.add("no-charts"); // an old browser: the words stay
    return;
  }

  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  const { plotly: config, dark } = JSON.parse(document.getElementById("chart-config").textContent);
  const darkScreen = window.matchMedia("screen and (prefers-color-scheme: dark)");
  const code = document.createElement("script");
  code.textContent = await unpack(document.getElementById("plotly")); // runs because the page's policy names its hash
  document.head.append(code);

  const charts = new Map(figures.map((figure) => [figure, null]));

  // The data of a chart has the colours of a light screen. A word such as white may be a name elsewhere.
  function read(figure, light) {
    const painted = (key, value) =>
      typeof value === "string" && (value[0] === "#" || key.endsWith("color")) && dark[value] ? dark[value] : value;
    return JSON.parse(charts.get(figure), light ? undefined : painted);
  }

  function show(figure, light = !darkScreen.matches) {
    const scheme = light ? "light" : "dark";
    if (figure.dataset.drawn === scheme) return;
    const chart = read(figure, light);
    Plotly[figure.dataset.drawn ? "react" : "newPlot"](figure.querySelector(".plot"), chart.data, chart.layout, config);
    figure.dataset.drawn = scheme;
  }
  const drawn = () => figures.filter((figure) => figure.dataset.drawn);
  darkScreen.addEventListener("change", () => drawn().forEach((figure) => show(figure)));

  async function draw(figure) {
    if (charts.get(figure) === null) charts.set(figure, await unpack(figure.querySelector("script")));
    show(figure);
  }

  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "800px" }
  );
  figures.forEach((figure) => watcher.observe(figure));

  window.addEventListener("beforeprint", () => {
    figures.forEach((figure) => {
      if (charts.get(figure) === null) return;
      show(figure, true);
      const width = PAPER_PX * (figure.classList.contains("half") ? 0.49 : 1);
      Plotly.relayout(figure.querySelector(".plot"), { width, autosize: false });
    });
  });
  window.addEventListener("afterprint", () => {
    drawn().forEach((figure) => {
      Plotly.relayout(figure.querySelector(".plot"), { width: null, autosize: true });
      show(figure);
    });
  });

  // There is no time to wait for anything when the page is about to be printed.
  for (const figure of figures) {
    if (charts.get(figure) === null) charts.set(figure, await unpack(figure.querySelector("script")));
  }
  document.body.dataset.unpacked = "yes";
})();
