// Plots that can be pointed at and zoomed into: the drawings of the page, made live. They are
// complete without this, and print as they are.
"use strict";

(() => {
  const NEAR = 24; // px of the drawing within which a point is meant
  const EDGE = 6; // px of the drawing beyond its edges that still belong to it
  const LEAST = 12; // px of the drawing that a range to zoom into is wide
  const POINTS = ".dots, .crosses, .pluses, .line.seen";
  const zoomed = new Map(); // range of the data by the drawing's name, kept when a page is renewed
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  let drag = null;

  // -- one drawing -----------------------------------------------------------------------------

  const made = new WeakMap();

  function axis(text, from, to) {
    const [kind, low, high] = text.split(" ");
    return { kind, low: Number(low), high: Number(high), from, to };
  }

  const place = (of, px) => of.low + ((px - of.from) / (of.to - of.from)) * (of.high - of.low);

  function drawing(svg) {
    if (made.has(svg)) return made.get(svg);
    const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
    const own = {
      x: axis(svg.dataset.x, left, right), y: axis(svg.dataset.y, bottom, top),
      paths: [...svg.querySelectorAll(".marks path")].map((each) => [each, each.getAttribute("d")]),
      places: [...svg.querySelectorAll(".marks circle, .marks text")].map((each) => {
        const name = each.localName === "circle" ? "cx" : "x";
        return [each, name, Number(each.getAttribute(name))];
      }),
      ticks: [...svg.querySelectorAll(".tick[text-anchor=middle]")].map((each) => [each, each.textContent]),
    };
    made.set(svg, own);
    return own;
  }

  // Moves the absolute places of a path; what is relative to them, a cross for example, stays.
  function moved(path, to) {
    return path.replace(/([MLH])([\d. ]+)/g, (_, command, numbers) => {
      const [x, y] = numbers.trim().split(/ +/);
      return `${command}${to(Number(x)).toFixed(1)}${command === "H" ? "" : ` ${y}`}`;
    });
  }

  function zoom(svg, low, high) {
    const own = drawing(svg);
    const whole = axis(svg.dataset.x, own.x.from, own.x.to);
    own.x = { ...whole, low, high };
    const to = (px) => own.x.from + ((place(whole, px) - low) / (high - low)) * (own.x.to - own.x.from);
    for (const [each, path] of own.paths) if (!each.matches(".level")) each.setAttribute("d", moved(path, to));
    for (const [each, name, at] of own.places) if (!each.matches(".level")) each.setAttribute(name, to(at).toFixed(1));
    const all = low === whole.low && high === whole.high;
    for (const [each, text] of own.ticks) {
      each.textContent = all ? text : words(own.x, place(own.x, Number(each.getAttribute("x"))), 7);
    }
    clip(svg, !all);
    const name = svg.getAttribute("aria-label");
    if (all) zoomed.delete(name); else zoomed.set(name, [low, high]);
    back(svg, all);
  }

  // What lies beyond the edges is cut off while a part is shown.
  function clip(svg, on) {
    const marks = svg.querySelector(".marks");
    if (!on) { marks.removeAttribute("clip-path"); return; }
    const id = `clip-${[...document.querySelectorAll("svg.plot")].indexOf(svg)}`;
    if (!svg.querySelector("clipPath")) {
      const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
      const path = document.createElementNS(svg.namespaceURI, "clipPath");
      const inside = document.createElementNS(svg.namespaceURI, "rect");
      for (const [key, value] of Object.entries({ x: left, y: 0, width: right - left, height: bottom + 3 })) inside.setAttribute(key, value);
      path.id = id;
      path.append(inside);
      svg.append(path);
    }
    marks.setAttribute("clip-path", `url(#${id})`);
  }

  function back(svg, all) {
    const figure = svg.closest("figure") || svg.parentElement;
    let button = figure.querySelector("button.whole");
    if (all) { if (button) button.remove(); return; }
    if (button) return;
    button = document.createElement("button");
    button.className = "whole";
    button.type = "button";
    button.textContent = "whole range";
    button.addEventListener("click", () => reset(svg));
    svg.after(button);
  }

  function reset(svg) {
    const { low, high } = axis(svg.dataset.x, 0, 1);
    zoom(svg, low, high);
  }

  // -- words -----------------------------------------------------------------------------------

  function words(of, value, digits) {
    if (of.kind === "log") return String(Number((2 ** value).toPrecision(3)));
    if (of.kind !== "time") {
      const step = (of.high - of.low) / 1000;
      return value.toFixed(Math.min(12, Math.max(0, Math.ceil(-Math.log10(step) - (digits > 6 ? 1 : 0))))).replace("-", "\u2212");
    }
    const text = new Date(value * 1000).toISOString();
    if (digits > 6) return of.high - of.low > 2 * 86400 ? text.slice(0, 10) : text.slice(11, 19);
    return text.slice(0, 19).replace("T", " ");
  }

  // -- pointing --------------------------------------------------------------------------------

  function inside(svg, event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const { x, y } = drawing(svg);
    return { at, fits: at.x >= x.from - EDGE && at.x <= x.to + EDGE && at.y >= y.to - EDGE && at.y <= y.from + EDGE };
  }

  function nearest(svg, at) {
    const { x } = drawing(svg);
    let best = null;
    let least = NEAR * NEAR;
    for (const path of svg.querySelectorAll(POINTS)) {
      for (const [, a, b] of path.getAttribute("d").matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)) {
        const px = Number(a), py = Number(b);
        const far = (px - at.x) ** 2 + (py - at.y) ** 2;
        if (far < least && px >= x.from && px <= x.to) { least = far; best = { x: px, y: py }; }
      }
    }
    return best;
  }

  function show(svg, event) {
    const { at, fits } = inside(svg, event);
    const point = fits ? nearest(svg, at) : null;
    tip.hidden = !point;
    if (!point) return;
    const { x, y } = drawing(svg);
    tip.textContent = `${words(x, place(x, point.x), 3)}, ${words(y, place(y, point.y), 3)}`;
    const seen = new DOMPoint(point.x, point.y).matrixTransform(svg.getScreenCTM());
    if (!tip.isConnected) document.body.append(tip);
    const left = Math.min(seen.x + 10, innerWidth - tip.offsetWidth - 6);
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${seen.y + scrollY - tip.offsetHeight - 8}px`;
  }

  const live = (event) => event.target.closest && event.target.closest("svg.plot[data-x]");

  document.addEventListener("pointermove", (event) => {
    const svg = live(event);
    if (svg) show(svg, event); else tip.hidden = true;
  });
  document.addEventListener("pointerdown", (event) => {
    const svg = live(event);
    if (!svg || event.button || !/^(number|time)$/.test(drawing(svg).x.kind)) return;
    const { at, fits } = inside(svg, event);
    if (fits) drag = { svg, from: at.x };
  });
  document.addEventListener("pointerup", (event) => {
    const begun = drag;
    drag = null;
    if (!begun || !begun.svg.isConnected) return;
    const { at } = inside(begun.svg, event);
    const { x } = drawing(begun.svg);
    const ends = [begun.from, Math.min(x.to, Math.max(x.from, at.x))].sort((a, b) => a - b);
    if (ends[1] - ends[0] < LEAST) return;
    zoom(begun.svg, place(x, ends[0]), place(x, ends[1]));
    addEventListener("click", (click) => click.preventDefault(), { capture: true, once: true });
    setTimeout(() => getSelection().removeAllRanges());
  });
  document.addEventListener("pointercancel", () => { drag = null; });
  document.addEventListener("dragstart", (event) => { if (live(event)) event.preventDefault(); });
  document.addEventListener("dblclick", (event) => { const svg = live(event); if (svg) reset(svg); });

  // A page that is renewed shows the part that was chosen.
  new MutationObserver(() => {
    tip.hidden = true;
    for (const svg of document.querySelectorAll("svg.plot[data-x]")) {
      const range = zoomed.get(svg.getAttribute("aria-label"));
      if (range && !svg.querySelector("clipPath")) zoom(svg, ...range);
    }
  }).observe(document.body, { childList: true });
})();
