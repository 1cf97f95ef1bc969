"use strict";
// Draws flame graphs from the top down: callers above what they call, as wide as their part of the CPU.
(function () {
  const ROW_PX = 18;
  const LEAST_PX = 0.5; // what is narrower is not drawn; it is in its caller, and in the search
  const THIN_PX = 3; // what is narrower has no room for a gap, and is an element only where it has the focus
  const TEXT_PX = 24;
  const PAPER_PX = 690; // A4 and US letter with the margins of post.css
  const papers = []; // of each graph that is drawn: draws it as wide as the paper, or as the screen
  const SVG = "http://www.w3.org/2000/svg";
  const EACH = -1, TOGETHER = -2; // instead of the number of a thread group
  if (!("DecompressionStream" in window)) return; // an old browser: the tables stay

  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  }

  function make(name, attributes, ...content) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  }

  // A node: its number of a name, its caller, its callees, and for each side what it has of its own and in all.
  function node(name, caller, sides) {
    return { name, caller, callees: [], by: null, own: Array(sides).fill(0), ownSamples: Array(sides).fill(0), from: -1 };
  }

  // Sums from the callees to the callers; `nodes` has each caller before its callees.
  function sum(nodes) {
    for (const one of nodes) {
      one.all = one.own.slice();
      one.samples = one.ownSamples.slice();
      const change = one.own.length > 1 ? one.own[1] - one.own[0] : 0;
      one.more = Math.max(change, 0);
      one.less = Math.max(-change, 0);
    }
    for (let at = nodes.length - 1; at > 0; at--) {
      const one = nodes[at], caller = one.caller;
      for (let side = 0; side < one.own.length; side++) {
        caller.all[side] += one.all[side];
        caller.samples[side] += one.samples[side];
      }
      caller.more += one.more;
      caller.less += one.less;
    }
    return nodes;
  }

  // The tree as it is stored: in preorder.
  function stored(data) {
    const sides = data.sides.length, nodes = [], kernel = new Set(data.kernel);
    for (let at = 0; at < data.n.length; at++) {
      const caller = at ? nodes[at - data.p[at]] : null;
      const one = node(data.n[at], caller, sides);
      one.from = at;
      one.kernel = Boolean(caller && (caller.kernel || kernel.has(one.name)));
      for (let side = 0; side < sides; side++) {
        one.ownSamples[side] = data.s[side][at];
        one.own[side] = data.unit === "samples" ? data.s[side][at] : data.u[side][at] * data.scale[side];
      }
      if (caller) caller.callees.push(one);
      nodes.push(one);
    }
    return sum(nodes);
  }

  // Another tree of the same samples: of a thread group (by its name's number), or of all together, and from the
  // innermost function out.
  function derived(base, group, reversed) {
    const root = node(base[0].name, null, base[0].own.length), nodes = [root];
    for (const one of base) {
      if (!one.ownSamples.some((samples) => samples)) continue;
      const path = [];
      for (let at = one; at.caller; at = at.caller) path.push(at);
      if (group >= 0 && path[path.length - 1].name !== group) continue;
      if (path.length > 1 && group !== EACH) path.pop();
      if (!reversed) path.reverse();
      let to = root;
      for (const step of path) {
        to.by = to.by || new Map();
        let next = to.by.get(step.name);
        if (!next) {
          next = node(step.name, to, root.own.length);
          next.from = step.from;
          next.kernel = step.kernel;
          to.by.set(step.name, next);
          to.callees.push(next);
          nodes.push(next);
        } else if (next.from !== step.from) next.from = -1; // of several nodes: what was tested holds for none of them
        to = next;
      }
      one.own.forEach((value, side) => {
        to.own[side] += value;
        to.ownSamples[side] += one.ownSamples[side];
      });
    }
    if (reversed) nodes.forEach((one) => (one.from = -1));
    sum(nodes);
    for (const one of nodes) one.callees.sort((a, b) => Math.max(...b.all) - Math.max(...a.all));
    return nodes;
  }

  function flame(figure, data) {
    const two = data.sides.length > 1, exact = data.unit !== "samples", base = stored(data);
    const unnamed = new Set(data.unnamed);
    const lower = data.names.map((name) => name.toLowerCase());
    const groups = base[0].callees.map((one) => one.name);
    const letters = two ? ["A", "B"] : [""];
    const state = { nodes: base, zoom: base[0], at: base[0], show: two ? "B" : "A", found: "" };
    const drawn = new Map(); // of each node that is drawn, where
    const boxes = new Map(); // of each that is an element, which
    const slivers = []; // the others, by level

    const tree = make("div", { role: "tree", class: "tree", "aria-label": figure.querySelector(".drawn").dataset.title });
    const blank = make("div", { role: "treeitem", tabindex: "-1" });
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("preserveAspectRatio", "none");
    const told = make("p", { class: "told" });
    const hits = make("output", { class: "hits" });
    const search = make("input", { type: "search", "aria-label": "Search functions", placeholder: "Search ( / )" });
    const whole = make("button", { type: "button" }, "Show everything");
    const bar = make("div", { class: "bar" }, search);

    function chooser(label, options, chosen, change) {
      const select = make("select", {});
      for (const [value, text] of options) select.append(make("option", { value }, text));
      select.value = chosen;
      select.addEventListener("change", () => change(select.value));
      bar.append(make("label", {}, `${label} `, select));
      return select;
    }
    if (two) {
      const options = [["A", `A: ${data.sides[0].short}`], ["B", `B: ${data.sides[1].short}`]];
      options.push(["more", "more in B than in A"], ["less", "less in B than in A"]);
      chooser("Width:", options, "B", (value) => {
        state.show = value;
        if (!width(state.zoom)) state.zoom = state.nodes[0];
        draw();
      });
    }
    let group = EACH, reversed = false;
    function view() {
      const plain = group === EACH && !reversed;
      state.nodes = plain ? base : derived(base, group, reversed);
      state.zoom = state.at = state.nodes[0];
      mark();
      draw();
    }
    if (groups.length > 1) {
      const options = [[EACH, "each by itself"], [TOGETHER, "all together"], ...groups.map((name) => [name, data.names[name]])];
      chooser("Threads:", options, EACH, (value) => {
        group = Number(value);
        view();
      });
    }
    chooser("Order:", [["callers", "callers on top"], ["callees", "reversed"]], "callers", (value) => {
      reversed = value === "callees";
      view();
    });
    bar.append(whole, hits);
    const keys = "Arrow keys move, Enter zooms in, Esc shows everything, / searches.";
    const wide = exact ? "Width: CPU microseconds per operation." : "Width: samples.";
    const changes = two ? " + more and − less in B, where the interval of the change excludes 0." : "";
    const onPaper = make("p", { class: "key paper" }); // nothing there says what was chosen, and no key works
    const key = make("p", { class: "key" }, `${wide}${changes} ${keys}`);
    figure.querySelector(".drawn").append(bar, told, onPaper, tree, key);

    function width(one) {
      if (state.show === "more") return one.more;
      if (state.show === "less") return one.less;
      return one.all[two && state.show === "B" ? 1 : 0];
    }

    // A and B are drawn on one scale, and so are more and less.
    function full(one) {
      if (!two) return one.all[0];
      return state.show === "A" || state.show === "B" ? Math.max(...one.all) : Math.max(one.more, one.less);
    }

    const numbers = new Intl.NumberFormat("en", exact ? { maximumSignificantDigits: 3 } : {});
    const number = (value) => numbers.format(value);
    const share = (value, of) => (of ? `${((100 * value) / of).toFixed(1)} %` : "-");
    const name = (one) => (one.caller ? data.names[one.name] : "all");

    // What is known of a change; reversed, the outermost nodes have what functions use themselves.
    function testOf(one) {
      if (one.from >= 0) return data.tested[one.from];
      return reversed && group < 0 && one.caller === state.nodes[0] ? data.functions[one.name] : undefined;
    }

    function change(one) {
      const tested = testOf(one);
      return tested && tested[2] ? (tested[0] > 0 ? "more" : "less") : "";
    }

    function sentence(one) {
      const root = state.nodes[0];
      const values = one.all.map((value, side) => {
        const of = `${share(value, root.all[side])}, ${one.samples[side].toLocaleString("en")} samples`;
        return `${letters[side]} ${exact ? `${number(value)} us/op (${of})` : of}`.trim();
      });
      let text = `${name(one)}: ${values.join("; ")}`;
      if (two && exact) {
        const by = one.all[1] - one.all[0], tested = testOf(one);
        const signed = (value) => `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
        text += `; change ${signed(by)} us/op`;
        if (tested) text += ` [${signed(tested[0])} to ${signed(tested[1])}]${tested[2] ? "" : ", which may be noise"}`;
        else if (!data.isUntested) text += ", not tested";
      }
      return text;
    }

    function looks(one, by) {
      const kind = two ? `two ${by}` : unnamed.has(one.name) ? "nameless" : one.kernel ? "kernel" : "";
      return one.hit ? `${kind} hit` : kind;
    }

    function element(one) {
      const { left, part, level } = drawn.get(one), by = two ? change(one) : "", wide = part * drawnPx;
      const box = blank.cloneNode();
      box.className = `fn ${looks(one, by)}${wide < THIN_PX ? " thin" : ""}`;
      box.setAttribute("aria-level", level + 1);
      box.setAttribute("aria-label", name(one)); // the figures are added when it gets the focus
      box.style.cssText = `left:${(100 * left).toFixed(4)}%;width:${(100 * part).toFixed(4)}%;top:${level * ROW_PX}px`;
      const glyph = by === "more" ? "+ " : by === "less" ? "− " : "";
      if (wide >= TEXT_PX) box.textContent = glyph + name(one);
      box.node = one;
      boxes.set(one, box);
      return box;
    }

    // All that are too narrow for text, as one shape for each colour.
    function shapes() {
      const paths = new Map();
      for (const one of slivers.flat()) {
        const { left, part, level } = drawn.get(one), kind = looks(one, two ? change(one) : "");
        const wide = (part * drawnPx).toFixed(2);
        const shape = `M${(left * drawnPx).toFixed(2)} ${level * ROW_PX}h${wide}v${ROW_PX - 1}h-${wide}z`;
        paths.set(kind, (paths.get(kind) || "") + shape);
      }
      svg.replaceChildren(...Array.from(paths, ([kind, d]) => {
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("class", `sliver ${kind}`);
        path.setAttribute("d", d);
        return path;
      }));
    }

    // The node at the place of an event.
    function under(event) {
      const box = event.target.closest("[role=treeitem]");
      if (box) return box.node;
      const area = tree.getBoundingClientRect();
      const at = (event.clientX - area.left) / area.width, level = Math.floor((event.clientY - area.top) / ROW_PX);
      return (slivers[level] || []).find((one) => {
        const { left, part } = drawn.get(one);
        return left <= at && at < left + part;
      });
    }

    function shown() {
      if (!two) return "";
      if (state.show === "A" || state.show === "B") return `Drawn: ${state.show}, ${data.sides["AB".indexOf(state.show)].name}. `;
      return `Drawn: what is ${state.show} in B than in A. `;
    }

    let drawnPx = 0, paperPx = 0;
    function draw(focus = false) {
      drawnPx = paperPx || tree.clientWidth || PAPER_PX;
      onPaper.textContent = `${shown()}${wide}${changes}`;
      drawn.clear();
      boxes.clear();
      slivers.length = 0;
      const above = [];
      for (let at = state.zoom.caller; at; at = at.caller) above.unshift(at);
      above.forEach((one, level) => drawn.set(one, { left: 0, part: 1, level }));
      const scale = full(state.zoom) || 1;
      let deepest = above.length;
      const waiting = [[state.zoom, 0, above.length]];
      while (waiting.length) {
        const [one, left, level] = waiting.pop();
        const part = width(one) / scale;
        drawn.set(one, { left, part, level });
        if (part * drawnPx < THIN_PX && one !== state.zoom) (slivers[level] = slivers[level] || []).push(one);
        deepest = Math.max(deepest, level);
        let from = left;
        const next = [];
        for (const callee of one.callees) {
          const its = width(callee) / scale;
          if (its * drawnPx >= LEAST_PX) next.push([callee, from, level + 1]);
          from += its;
        }
        while (next.length) waiting.push(next.pop());
      }
      const high = (deepest + 1) * ROW_PX, narrow = new Set(slivers.flat());
      tree.replaceChildren(svg, ...Array.from(drawn.keys()).filter((one) => !narrow.has(one)).map(element));
      svg.setAttribute("viewBox", `0 0 ${drawnPx} ${high}`);
      shapes();
      tree.style.height = `${high}px`;
      whole.hidden = state.zoom === state.nodes[0];
      select(drawn.has(state.at) ? state.at : state.zoom, focus);
      figure.dataset.drawn = "yes";
    }

    function select(one, focus) {
      const before = boxes.get(state.at);
      if (before) before.setAttribute("tabindex", "-1");
      state.at = one;
      if (!boxes.has(one)) tree.append(element(one));
      const box = boxes.get(one), said = sentence(one);
      box.setAttribute("tabindex", "0");
      box.setAttribute("aria-label", said);
      told.textContent = said;
      if (focus) box.focus();
    }

    function zoom(one) {
      state.zoom = state.at = one;
      draw(true);
    }

    function beside(one, by) {
      if (!one.caller) return null;
      const row = one.caller.callees.filter((callee) => drawn.has(callee));
      return row[row.indexOf(one) + by];
    }

    tree.addEventListener("keydown", (event) => {
      const one = state.at;
      let to = null;
      if (event.key === "ArrowUp") to = one.caller;
      else if (event.key === "ArrowDown") to = one.callees.find((callee) => drawn.has(callee));
      else if (event.key === "ArrowLeft") to = beside(one, -1);
      else if (event.key === "ArrowRight") to = beside(one, 1);
      else if (event.key === "Home") to = state.nodes[0];
      else if (event.key === "Enter" || event.key === " ") zoom(one);
      else if (event.key === "Escape") {
        state.zoom = state.nodes[0];
        draw(true);
      } else if (event.key === "/") search.focus();
      else return;
      event.preventDefault();
      if (to) select(to, true);
    });
    tree.addEventListener("click", (event) => {
      const one = under(event);
      if (one) zoom(one);
    });
    let pointed = null;
    tree.addEventListener("mousemove", (event) => {
      const one = under(event);
      if (one && one !== pointed) told.textContent = sentence(one);
      pointed = one;
    });
    tree.addEventListener("mouseleave", () => {
      pointed = null;
      told.textContent = sentence(state.at);
    });
    tree.addEventListener("focusin", (event) => {
      if (event.target.node) select(event.target.node, false);
    });
    whole.addEventListener("click", () => zoom(state.nodes[0]));

    // What calls itself through others is found once: only its outermost call counts.
    function mark() {
      const text = state.found, sums = data.sides.map(() => [0, 0]);
      for (const one of state.nodes) {
        one.hit = Boolean(text && one.caller && lower[one.name].includes(text));
        one.inside = Boolean(one.caller && (one.caller.inside || one.caller.hit));
        if (one.hit && !one.inside) one.all.forEach((value, side) => {
          sums[side][0] += value;
          sums[side][1] += one.samples[side];
        });
      }
      hits.textContent = "";
      if (!text) return;
      const root = state.nodes[0];
      const parts = sums.map(([value, samples], side) => {
        const of = `${share(value, root.all[side])}, ${samples.toLocaleString("en")} samples`;
        return `${letters[side]} ${exact ? `${number(value)} us/op (${of})` : of}`.trim();
      });
      hits.textContent = `Found: ${parts.join("; ")}`;
    }
    search.addEventListener("input", () => {
      state.found = search.value.trim().toLowerCase();
      mark();
      for (const [one, box] of boxes) box.classList.toggle("hit", one.hit);
      shapes();
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        search.value = "";
        search.dispatchEvent(new Event("input"));
        select(state.at, true);
        event.preventDefault();
      } else if (event.key === "Enter") {
        const first = [...drawn.keys()].find((one) => one.hit);
        if (first) select(first, true);
      }
    });
    let before = 0;
    new ResizeObserver(() => {
      if (Math.abs(tree.clientWidth - before) > 1 && tree.clientWidth) {
        before = tree.clientWidth;
        draw();
      }
    }).observe(tree);
    papers.push((px) => {
      paperPx = px;
      draw();
    });
    draw();
  }

  const figures = Array.from(document.querySelectorAll("figure.flame"));
  const ready = new Map();
  const show = (figure) => {
    if (ready.has(figure) && !figure.dataset.drawn) flame(figure, ready.get(figure));
  };
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => show(entry.target)),
    { rootMargin: "800px" }
  );
  figures.forEach(async (figure) => {
    ready.set(figure, await unpack(figure.querySelector("script")));
    watcher.observe(figure);
  });
  window.addEventListener("beforeprint", () => {
    figures.forEach(show);
    papers.forEach((draw) => draw(PAPER_PX));
  });
  window.addEventListener("afterprint", () => papers.forEach((draw) => draw(0)));
})();
