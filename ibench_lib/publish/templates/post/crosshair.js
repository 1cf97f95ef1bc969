"use strict";
// One crosshair for all charts of a step: the same second in each of them, and a line below that says their values there.
(function () {
  const MOST = 12; // values that the line has room for
  const figures = Array.from(document.querySelectorAll("figure[data-time]"));
  const seconds = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
  const numbers = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const read = new Map(); // of each plot, its lines
  const crosses = new Map(); // of each plot, the line through it
  let shown = ""; // the group that has a crosshair

  const said = document.createElement("output");
  said.className = "second";
  said.hidden = true;
  document.body.append(said);

  // A picture has its axis and its lines as data: what it shows, whose it is, and points.
  function ofPicture(element) {
    if (!read.has(element)) read.set(element, JSON.parse(element.dataset.lines));
    const { from, to } = element.dataset;
    return { element, left: 0, wide: element.clientWidth, from: Number(from), to: Number(to), lines: read.get(element) };
  }

  // A chart of plotly has them where it is drawn, also where it is zoomed; pale lines and bands are left out.
  function ofChart(element) {
    const layout = element._fullLayout, axis = layout && layout.xaxis;
    if (!axis) return [];
    const { what, lasts_s } = layout.meta;
    if (!read.has(element)) {
      const of = ({ meta }) => (meta && meta.what) || what; // panels of one chart show different things
      const strong = (trace) => of(trace) && trace.type === "scatter" && trace.meta !== "aside" && trace.opacity === 1;
      const lines = element.calcdata.filter((points) => points[0] && strong(points[0].trace)).map((points) => [points, points[0].trace]);
      const middle = lasts_s / 2; // a point stands where its seconds begin
      read.set(element, lines.map(([points, trace]) => [of(trace), nameOf(trace), points.map(({ x, y }) => [x + middle, y])]));
    }
    const [from, to] = axis.range.map(Number);
    return [{ element, left: axis._offset, wide: axis._length, from, to, lines: read.get(element) }];
  }

  // Repeats share their name in a legend; what hovering says tells which is which.
  function nameOf({ name, hovertemplate }) {
    const [own, value] = String(hovertemplate || "").split(": %{y}");
    return text(value === undefined ? name : own);
  }

  // Names are escaped for plotly, which reads HTML.
  function text(name) {
    return new DOMParser().parseFromString(name, "text/html").documentElement.textContent;
  }

  function plotsOf(figure) {
    if (figure.classList.contains("chart")) return ofChart(figure.querySelector(".plot"));
    return Array.from(figure.querySelectorAll("[data-lines]"), ofPicture);
  }

  // How far the points of a line usually are from each other.
  function apart(points) {
    const gaps = points.slice(1).map(([x], at) => x - points[at][0]).filter(Number.isFinite).sort((a, b) => a - b);
    return gaps.length ? gaps[gaps.length >> 1] : 0;
  }

  // The point of a line that is nearest to a second; none in a hole, and none after its end.
  function valueAt(points, second) {
    const within = 0.6 * Math.max(1, apart(points)); // samples are not taken to the second
    let found = null;
    for (const [x, y] of points) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      if (Math.abs(x - second) <= within && (!found || Math.abs(x - second) < Math.abs(found[0] - second))) found = [x, y];
    }
    return found && found[1];
  }

  function end() {
    for (const cross of crosses.values()) cross.remove();
    said.hidden = true;
    shown = "";
  }

  function show(group, second) {
    end();
    const values = new Map();
    for (const figure of figures.filter((one) => one.dataset.time === group)) {
      for (const plot of plotsOf(figure)) {
        const part = (second - plot.from) / (plot.to - plot.from);
        if (!plot.wide || !(part >= 0 && part <= 1)) continue;
        if (!crosses.has(plot.element)) {
          crosses.set(plot.element, document.createElement("div"));
          crosses.get(plot.element).className = "cross";
        }
        crosses.get(plot.element).style.left = `${plot.left + part * plot.wide}px`;
        plot.element.append(crosses.get(plot.element));
        const box = plot.element.getBoundingClientRect();
        if (box.bottom < 0 || box.top > window.innerHeight) continue;
        for (const [what, name, points] of plot.lines) {
          const value = valueAt(points, second);
          if (value !== null) values.set(what, (values.get(what) || new Map()).set(name, numbers.format(value)));
        }
      }
    }
    let left = MOST;
    const parts = Array.from(values, ([what, names]) => {
      const items = Array.from(names, ([name, value]) => `${name} ${value}`).slice(0, Math.max(left, 0));
      left -= names.size;
      return items.length ? `${what}: ${items.join(", ")}` : "";
    });
    const more = left < 0 ? `and ${-left} more` : "";
    said.textContent = [`${seconds.format(second)} s of ${group}`, ...parts, more].filter(Boolean).join("; ");
    said.hidden = false;
    shown = group;
  }

  let waiting = null;
  function soon(group, second) {
    if (!waiting) requestAnimationFrame(() => {
      const next = waiting;
      waiting = null;
      if (next.second === null) end();
      else show(next.group, next.second);
    });
    waiting = { group, second };
  }

  for (const figure of figures) {
    figure.tabIndex = 0;
    const group = figure.dataset.time;
    let second = null;
    figure.addEventListener("pointermove", (event) => {
      for (const { element, left, wide, from, to } of plotsOf(figure)) {
        const box = element.getBoundingClientRect(), part = (event.clientX - box.left - left) / wide;
        if (event.clientY < box.top || event.clientY > box.bottom || !(part >= 0 && part <= 1)) continue;
        soon(group, from + part * (to - from));
        return;
      }
      soon(group, null);
    });
    figure.addEventListener("pointerleave", () => soon(group, null));
    figure.addEventListener("keydown", (event) => {
      const [plot] = plotsOf(figure), by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.target !== figure || !plot || !(by || event.key === "Escape")) return;
      event.preventDefault();
      if (!by) {
        second = null;
        end();
        return;
      }
      const step = Math.max(1, Math.round((plot.to - plot.from) / 200));
      second = second === null ? Math.round((plot.from + plot.to) / 2) : second + by * step;
      second = Math.min(Math.max(second, plot.from), plot.to);
      show(group, second);
    });
    figure.addEventListener("blur", () => {
      second = null;
      if (shown === group) end();
    });
  }
})();
