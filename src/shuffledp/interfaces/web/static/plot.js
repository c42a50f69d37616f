// Plots as self-contained SVG: colours are read from the page, so that an exported picture keeps them.
const NS = "http://www.w3.org/2000/svg";
// Narrower on a phone, where the page would shrink the letters with the picture.
const WIDTH = document.documentElement.clientWidth < 500 ? 360 : 460, HEIGHT = 300, LEFT = 62, RIGHT = 14, TOP = 30, BOTTOM = 44;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const STATUS = { PROVEN: "proven", FIXED_PAIR: "fixed", ASYMPTOTIC: "limit", HEURISTIC: "doubt", REFUTED: "refuted" };

export function element(name, attributes = {}, ...children) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function sheet(height, label) {
  const svg = element("svg", { xmlns: NS, viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label,
    "font-family": "system-ui, sans-serif", "font-size": 11.5 });
  svg.append(element("rect", { width: WIDTH, height, fill: colour("card") }));
  return svg;
}

const text = (x, y, words, attributes = {}) => element("text", { x, y, fill: colour("soft"), ...attributes }, words);

export function number(value) {
  if (value === null || value === undefined) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(5)));
}

// What was asked: short where that says it all.
export const inFull = (value) => Number(number(value)) === value ? number(value) : String(value);

// Rounded outward: a guarantee never looks better than it is.
export function outward(value, up, digits = 5) {
  if (value === null || value === undefined || value === 0 || !Number.isFinite(value)) return number(value);
  let shown = Number(value.toPrecision(digits));
  if (up ? shown < value : shown > value) {
    const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
    shown = Number((shown + (up ? unit : -unit)).toPrecision(digits));
  }
  return Math.abs(shown) < 1e-3 ? shown.toExponential().replace("e+", "e") : String(shown);
}

function tick(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e4 || size < 1e-3 ? value.toExponential(0).replace("e+", "e") : String(Number(value.toPrecision(3)));
}

function scale(low, high, from, to, log) {
  if (log) {
    let a = Math.log10(low), b = Math.log10(high);
    if (b - a < 1e-9) { a -= 0.5; b += 0.5; }
    const every = Math.max(1, Math.ceil((b - a) / 6));
    let ticks = [];
    for (let power = Math.ceil(a - 1e-9); power <= b + 1e-9; power += every) ticks.push(10 ** power);
    if (ticks.length < 2) ticks = [0, 1, 2, 3].map((i) => 10 ** (a + (b - a) * i / 3));
    return { at: (v) => from + (Math.log10(Math.max(v, low)) - a) / (b - a) * (to - from), ticks };
  }
  if (high <= low) high = low + 1;
  const raw = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i += 1) ticks.push(i * step);
  return { at: (v) => from + (v - low) / (high - low) * (to - from), ticks };
}

export function bandPlot({ points, xlabel, ylabel, logx, logy, mark, floor = 1e-14, label }) {
  const svg = sheet(HEIGHT, label);
  const sorted = [...points].sort((p, q) => p.x - q.x);
  const finite = sorted.filter((p) => p.lower !== null && p.upper !== null);
  if (!finite.length) return svg;
  const xs = finite.map((p) => p.x);
  let low = Math.min(...finite.map((p) => p.lower)), high = Math.max(...finite.map((p) => p.upper));
  if (logy) { low = Math.max(low, floor, high * 1e-12); high = Math.max(high, low * 2); } else { low = Math.min(low, 0); }
  const x = scale(xs[0], xs.at(-1), LEFT, WIDTH - RIGHT, logx), y = scale(low, high, HEIGHT - BOTTOM, TOP, logy);
  for (const value of x.ticks) {
    svg.append(element("line", { x1: x.at(value), x2: x.at(value), y1: TOP, y2: HEIGHT - BOTTOM, stroke: colour("grid") }));
    svg.append(text(x.at(value), HEIGHT - BOTTOM + 15, tick(value), { "text-anchor": "middle" }));
  }
  for (const value of y.ticks) {
    svg.append(element("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y.at(value), y2: y.at(value), stroke: colour("grid") }));
    svg.append(text(LEFT - 6, y.at(value) + 4, tick(value), { "text-anchor": "end" }));
  }
  const upper = finite.map((p) => `${x.at(p.x)},${y.at(p.upper)}`), lower = finite.map((p) => `${x.at(p.x)},${y.at(p.lower)}`);
  svg.append(element("polygon", { points: [...upper, ...[...lower].reverse()].join(" "), fill: colour("band"), "fill-opacity": 0.2 }));
  const loss = ylabel !== "type II error", [top, bottom] = loss ? ["proven", "fixed"] : ["fixed", "proven"];
  for (const [line, name] of [[upper, top], [lower, bottom]]) {
    svg.append(element("polyline", { points: line.join(" "), fill: "none", stroke: colour(name), "stroke-width": 2.2,
      "stroke-dasharray": name === "fixed" ? "6 4" : "none", "stroke-linejoin": "round" }));
  }
  if (mark) {
    for (const [value, name] of [[mark.upper, top], [mark.lower, bottom]]) {
      if (value !== null && (!logy || value >= low)) svg.append(element("circle", { cx: x.at(mark.x), cy: y.at(value), r: 4.5, fill: colour(name), stroke: colour("card"), "stroke-width": 1.5 }));
    }
  }
  svg.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, xlabel, { "text-anchor": "middle" }));
  svg.append(text(14, (TOP + HEIGHT - BOTTOM) / 2, ylabel, { "text-anchor": "middle", transform: `rotate(-90 14 ${(TOP + HEIGHT - BOTTOM) / 2})` }));
  const legend = [["proven", "guaranteed", "none"], ["fixed", "leaked by a data set", "6 4"]];
  legend.forEach(([name, words, dash], i) => { // above the plot, where no curve runs
    const left = LEFT + 120 * i, line = 18;
    svg.append(element("line", { x1: left, x2: left + 22, y1: line - 4, y2: line - 4, stroke: colour(name), "stroke-width": 2.2, "stroke-dasharray": dash }));
    svg.append(text(left + 28, line, words));
  });
  hover(svg, finite, x, y, loss, { xlabel, ylabel });
  return svg;
}

// The values under the hand: gone with it, so that no saved picture has them.
function hover(svg, points, x, y, loss, { xlabel, ylabel }) {
  let shown = null;
  const clear = () => { shown?.remove(); shown = null; };
  svg.addEventListener("pointerleave", clear);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) * WIDTH / box.width;
    const point = points.reduce((best, p) => Math.abs(x.at(p.x) - at) < Math.abs(x.at(best.x) - at) ? p : best);
    clear();
    const [good, bad] = loss ? [point.upper, point.lower] : [point.lower, point.upper];
    const lines = [`${xlabel} ${number(point.x)}`, `guaranteed ${outward(good, loss)}`, `leaked ${outward(bad, !loss)}`];
    const wide = 152, left = x.at(point.x) > WIDTH / 2 ? LEFT + 6 : WIDTH - RIGHT - wide - 6, high = loss ? TOP + 4 : HEIGHT - BOTTOM - 62;
    shown = element("g", { class: "hover", "aria-hidden": "true", "pointer-events": "none" });
    shown.append(element("line", { x1: x.at(point.x), x2: x.at(point.x), y1: TOP, y2: HEIGHT - BOTTOM, stroke: colour("soft"), "stroke-dasharray": "2 3" }));
    for (const [value, name] of [[good, "proven"], [bad, "fixed"]]) shown.append(element("circle", { cx: x.at(point.x), cy: y.at(value), r: 3.5, fill: colour(name) }));
    shown.append(element("rect", { x: left, y: high, width: wide, height: 58, rx: 6, fill: colour("card"), stroke: colour("line") }));
    lines.forEach((words, i) => shown.append(text(left + 10, high + 18 + 16 * i, words, { fill: colour(["ink", "proven", "fixed"][i]) })));
    shown.append(element("title", {}, `${ylabel} at ${lines.join(", ")}`));
    svg.append(shown);
  });
}

// A dot for each bound: lengths of bars would say nothing on a log axis, which has no zero.
export function dotPlot({ bounds, label, xlabel, loss }) {
  const shown = bounds.filter((b) => b.value !== null && b.value > 0);
  const row = 17, height = 60 + row * shown.length;
  const legend = Object.keys(STATUS).filter((name) => shown.some((b) => b.status === name)).map((name) => [name, 30 + 6.6 * name.length]);
  const wraps = legend.reduce((sum, [, wide]) => sum + wide, 8) > WIDTH;
  const svg = sheet(Math.max(height, 80) + (wraps ? 16 : 0), label);
  if (!shown.length) { svg.append(text(12, 40, "every bound is 0 or infinite here")); return svg; }
  const values = shown.map((b) => b.value), low = Math.min(...values), high = Math.max(...values);
  const log = high > 20 * low, left = 16 + 5.4 * Math.max(...shown.map((b) => b.theorem.length));
  const x = log ? scale(low / 1.3, high, left, WIDTH - 70, true) : scale(0, high, left, WIDTH - 70, false);
  for (const value of x.ticks) svg.append(element("line", { x1: x.at(value), x2: x.at(value), y1: 4, y2: height - 44, stroke: colour("grid") }));
  shown.forEach((b, i) => {
    const y = 8 + row * i, shade = colour(STATUS[b.status]), words = outward(b.value, (b.direction !== "LOWER") === loss);
    svg.append(element("line", { x1: left, x2: x.at(b.value), y1: y + 7, y2: y + 7, stroke: colour("grid") }));
    svg.append(text(left - 8, y + 11, b.theorem, { "text-anchor": "end", fill: colour("ink"), "font-size": 10 }));
    svg.append(element("circle", { cx: x.at(b.value), cy: y + 7, r: 4, fill: b.direction === "LOWER" ? colour("card") : shade, stroke: shade, "stroke-width": 2 },
      element("title", {}, `${b.theorem}: ${words}, ${b.status}, ${b.direction}`)));
    svg.append(text(x.at(b.value) + 9, y + 11, words, { "font-size": 10 }));
  });
  let at = 8, line = height - 15;
  for (const [status, wide] of legend) {
    if (at + wide > WIDTH) { at = 8; line += 16; }
    svg.append(element("circle", { cx: at + 5, cy: line, r: 4.5, fill: colour(STATUS[status]) }));
    svg.append(text(at + 14, line + 4, status, { "font-size": 10, class: "legend" }));
    at += wide;
  }
  const axis = log ? `${xlabel}, log scale` : xlabel;
  svg.append(text(WIDTH - RIGHT, height - 30, `${axis}; open: leaked by a data set`, { "text-anchor": "end", "font-size": 10 }));
  return svg;
}

export function gauge({ lower, upper, local, name, width }) {
  const ends = [lower, upper, local].filter((v) => v !== null && v > 0 && Number.isFinite(v));
  if (ends.length < 2) return null;
  const low = Math.min(...ends) / 1.6, high = Math.max(...ends) * 1.6;
  const svg = element("svg", { viewBox: `0 0 ${width} 62`, role: "img", "font-family": "system-ui, sans-serif", "font-size": 12,
    "aria-label": `${name} between ${outward(lower, false)} and ${outward(upper, true)}` });
  const x = scale(low, high, 14, width - 14, true).at;
  svg.append(element("line", { x1: 14, x2: width - 14, y1: 30, y2: 30, stroke: colour("line"), "stroke-width": 4, "stroke-linecap": "round" }));
  if (lower > 0) svg.append(element("line", { x1: x(lower), x2: x(upper), y1: 30, y2: 30, stroke: colour("band"), "stroke-width": 10, "stroke-opacity": 0.35 }));
  const dots = [[lower, "fixed", "leaked", 54], [upper, "proven", "guaranteed", 16], [local, "soft", "without shuffling (eps0)", 54]];
  for (const [value, shade, words, y] of dots) {
    if (value === null || !(value > 0)) continue;
    const at = x(value);
    svg.append(element("circle", { cx: at, cy: 30, r: 7, fill: colour(shade) }));
    svg.append(text(Math.min(Math.max(at, 40), width - 80), y, words, { "text-anchor": "middle", fill: colour(shade) }));
  }
  return svg;
}

export async function toPng(svg) {
  const box = svg.viewBox.baseVal, factor = 2;
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image(box.width, box.height);
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = box.width * factor; canvas.height = box.height * factor;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally { URL.revokeObjectURL(url); }
}
