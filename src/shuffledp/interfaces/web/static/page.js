import { bandPlot, dotPlot, gauge, inFull, number, outward, toPng } from "./plot.js";

const $ = (id) => document.getElementById(id);
const FIELDS = {
  eps0: { label: "Local budget eps0", low: 0.1, high: 10, start: "2" },
  sigma: { label: "Noise deviation sigma", low: 0.3, high: 30, log: true, start: "2" },
  delta0: { label: "Local delta0", hint: "0 or empty if pure" },
  k: { label: "Number of values k", start: "16" },
  g: { label: "Hash range g", hint: "empty: the optimum" },
  d: { label: "Subset size d", hint: "empty: the optimum" },
  levels: { label: "Largest value", start: "10" },
  sensitivity: { label: "Sensitivity", hint: "largest distance of two values: twice a clipping norm; default 2" },
  scalar: { label: "Values are numbers, not vectors", check: true },
  ball: { label: "Vectors clipped to a ball of that diameter", check: true },
  sequential: { label: "Reports may depend on earlier ones", check: true },
  only_sums: { label: "Only the sum of all reports is released", check: true },
  noise: { label: "Noise", hint: "such as poisson:rate=42.7", text: true, start: "poisson:rate=42.7" },
  messages: { label: "Messages per user", start: "8" },
  modulus: { label: "Modulus", hint: "empty: large enough" },
  by_users: { label: "Each user adds the dummies", check: true },
  rate: { label: "Probability of reporting", start: "0.105" },
  threshold: { label: "Smallest count shown", start: "20" },
  spread: { label: "Threshold drawn up to this much higher" },
  neighbours: { label: "What may change", hint: "replace or remove", text: true },
  steps: { label: "Steps of an epoch", low: 10, high: 1e6, log: true, start: "1000" },
  batch: { label: "Records in a batch", start: "100" },
  epochs: { label: "Epochs", hint: "1 if empty" },
};
const MULTIPLIER = { label: "Noise multiplier sigma", start: "1" };
const OWN = {
  "noise-share": { noise: { start: "polya:shape=1e-5,scale=2" } },
  "split-and-mix": { noise: { start: "polya:shape=1e-5,scale=10" } },
  allocation: { sigma: MULTIPLIER, k: { label: "Steps that each example joins", hint: "1 if empty" } },
  minibatches: { sigma: MULTIPLIER },
};
const FIND = { gaussian: [["sigma", "smallest sigma"]], allocation: [["sigma", "smallest sigma"]], minibatches: [] };
const DEFAULTS = { n: "100000", delta: "1e-6", epsilon: "0.05", alpha: "0.05" };
let mechanisms = {}, data = {}, pending = new AbortController();

function field(host, name, { label, low, high, log, hint, check, text, start = "" }) {
  host.replaceChildren();
  if (check) {
    const row = document.createElement("label"), box = Object.assign(document.createElement("input"), { type: "checkbox", id: name, name });
    row.className = "check";
    row.append(box, label);
    host.append(row);
    return;
  }
  const tag = Object.assign(document.createElement("label"), { htmlFor: name, textContent: label });
  const box = Object.assign(document.createElement("input"), { id: name, name, value: start, inputMode: "decimal", spellcheck: false });
  if (text) Object.assign(box, { inputMode: "text" }).dataset.text = "";
  if (hint) {
    tag.append(Object.assign(document.createElement("span"), { className: "hint", id: `${name}-hint`, textContent: hint }));
    box.setAttribute("aria-describedby", `${name}-hint`);
  }
  host.className = "field";
  host.append(tag, box);
  if (low === undefined) return;
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1000, step: 1, id: `${name}-slider` });
  slider.setAttribute("aria-label", `${label}, slider`);
  const [a, b] = log ? [Math.log10(low), Math.log10(high)] : [low, high];
  slider.addEventListener("input", () => {
    const at = a + (b - a) * slider.value / 1000;
    box.value = name === "n" ? String(Math.round(Number((10 ** at).toPrecision(2)))) : String(Number((log ? 10 ** at : at).toPrecision(3)));
    slider.setAttribute("aria-valuetext", box.value);
  });
  box.follow = () => {
    const value = Number(clean(box.value)), at = log ? Math.log10(value) : value;
    if (Number.isFinite(at)) slider.value = Math.round(1000 * (at - a) / (b - a));
    slider.setAttribute("aria-valuetext", box.value);
  };
  box.addEventListener("input", box.follow);
  box.follow();
  host.append(slider);
}

const clean = (text) => text.replace(/[\s,_]/g, "");

function parametersFor(mechanism, values = {}) {
  const { needs, takes, crowd } = mechanisms[mechanism], host = $("parameters");
  const old = Object.fromEntries([...host.querySelectorAll("input[name]")].map((box) => [box.name, box.value]));
  host.replaceChildren();
  for (const name of [...needs, ...takes]) {
    const place = document.createElement("div");
    host.append(place);
    const known = { ...(FIELDS[name] ?? { label: name }), ...OWN[mechanism]?.[name] }, kept = name === "eps0" && old.eps0 !== undefined ? { start: old.eps0 } : {};
    field(place, name, { ...known, ...(takes.includes(name) ? { start: "" } : {}), ...kept, ...(values[name] !== undefined ? { start: values[name] } : {}) });
    if (known.check) $(name).checked = values[name] === "true";
  }
  for (const place of document.querySelectorAll("[data-field]:not([data-question])")) place.hidden = !crowd.includes(place.dataset.field);
  $("crowd").hidden = crowd.length === 0;
  $("varied").textContent = crowd.length ? "Over the number of users" : "Over the steps of an epoch";
  const find = FIND[mechanism] ?? (needs.includes("noise") || needs.includes("threshold") ? [["noise", "least noise"]] : [["eps0", "largest eps0"], ["n", "fewest users"]]);
  $("find").replaceChildren(...find.map(([value, words]) => new Option(words, value)));
  $("calibrate").parentElement.hidden = find.length === 0;
}

function showQuestion() {
  for (const place of document.querySelectorAll("[data-question]")) place.hidden = place.dataset.field !== $("question").value;
}

function visible(box) { return !box.closest("[hidden]"); }

function settings() {
  const given = {};
  for (const box of $("form").querySelectorAll("input[name], select[name]")) {
    if (box.name === "question" || !visible(box)) continue;
    if (box.type === "checkbox") { if (box.checked) given[box.name] = "true"; continue; }
    const value = box.tagName === "SELECT" ? box.value : "text" in box.dataset ? box.value.trim() : clean(box.value);
    if (value !== "") given[box.name] = value;
  }
  return given;
}

// What a link says that this page cannot show: it is not answered with another question's number.
function wrongLink(given) {
  const { mechanism = "ldp", ...others } = given;
  if (!Object.hasOwn(mechanisms, mechanism)) return { parameter: "mechanism", message: `The link names the mechanism '${mechanism}', which is not one of ${Object.keys(mechanisms).join(", ")}.` };
  const { needs, takes, crowd } = mechanisms[mechanism];
  const places = [...document.querySelectorAll("[data-field]")].filter((place) => "question" in place.dataset || crowd.includes(place.dataset.field));
  const known = [...needs, ...takes, ...places.map((place) => place.dataset.field)];
  const stranger = Object.keys(others).find((name) => !known.includes(name));
  if (stranger !== undefined) return { message: `The link gives '${stranger}', which ${mechanism} does not take; it takes ${known.join(", ")}.` };
  const asked = places.filter((place) => "question" in place.dataset && place.dataset.field in given);
  if (asked.length > 1) return { message: `The link asks ${asked.length} questions at once: ${asked.map((place) => place.dataset.field).join(", ")}.` };
  return null;
}

function restore() {
  const given = Object.fromEntries(new URLSearchParams(location.search)), wrong = wrongLink(given);
  const mechanism = Object.hasOwn(mechanisms, given.mechanism ?? "") ? given.mechanism : "ldp";
  $("mechanism").value = mechanism;
  parametersFor(mechanism, given);
  $("question").value = ["epsilon", "alpha"].find((name) => name in given) ?? "delta";
  showQuestion();
  for (const place of document.querySelectorAll("[data-field]")) {
    const box = $(place.dataset.field);
    box.value = given[box.name] ?? DEFAULTS[box.name] ?? "";
    box.follow?.();
  }
  if (!wrong) { update(); return; }
  data = {};
  complain(wrong);
  settled();
}

// Nothing of an earlier question can be copied or saved while the next one is computed.
function settled() {
  for (const button of document.querySelectorAll("[data-copy], #save-json")) button.disabled = !data.account;
  for (const button of document.querySelectorAll("[data-save]")) button.disabled = !data[button.dataset.save];
}

function unsettled() {
  for (const button of document.querySelectorAll("[data-copy], #save-json, [data-save]")) button.disabled = true;
  for (const host of document.querySelectorAll(".canvas")) host.dataset.stale = "";
}

async function ask(path, given, signal) {
  const reply = await fetch(`${path}?${new URLSearchParams(given)}`, { signal });
  const answer = await reply.json();
  if (!reply.ok) throw Object.assign(new Error(answer.error.message), answer.error);
  return answer;
}

function complain(error) {
  for (const box of document.querySelectorAll("[aria-invalid]")) box.removeAttribute("aria-invalid");
  $("error").hidden = !error;
  $("error").textContent = error ? error.message : "";
  $("result").hidden = Boolean(error);
  $("plots").hidden = Boolean(error);
  const box = error && error.parameter ? $("form").elements.namedItem(error.parameter) : null;
  if (box) box.setAttribute("aria-invalid", "true");
}

const NAMES = { epsilon: "epsilon", delta: "delta", tradeoff: "type II error" };

function showAnswer(answer) {
  const interval = answer[answer.quantity], loss = answer.quantity !== "tradeoff";
  const [good, bad] = loss ? [interval.upper_end, interval.lower_end] : [interval.lower_end, interval.upper_end];
  const name = NAMES[answer.quantity], asked = ["delta", "epsilon", "alpha"].find((q) => typeof answer[q] === "number");
  $("number").textContent = `${name} ${loss ? "≤" : "≥"} ${outward(good.value, loss)}`;
  $("number").dataset.value = String(good.value);
  $("meaning").textContent = `at ${asked} = ${inFull(answer[asked])}, for every data set; no analysis can show ${loss ? "less" : "more"} than ${outward(bad.value, !loss)}.`;
  for (const [end, up, ids] of [[good, loss, ["guaranteed", "status", "theorem"]], [bad, !loss, ["leaked", "leaked-status", "witness"]]]) {
    $(ids[0]).textContent = outward(end.value, up, 9);
    $(ids[0]).dataset.value = String(end.value);
    $(ids[1]).textContent = end.status; $(ids[1]).dataset.status = end.status;
    $(ids[2]).textContent = end.theorem; $(ids[2]).title = end.note;
  }
  $("description").textContent = answer.description;
  $("command").textContent = answer.command;
  $("python").textContent = answer.python;
  drawGauge();
}

function drawGauge() {
  if (!data.account) return;
  const { quantity, eps0 } = data.account, { lower, upper } = data.account[quantity];
  const picture = quantity === "epsilon" ? gauge({ lower, upper, local: eps0, name: "epsilon", width: Math.min($("gauge").clientWidth || 640, 640) }) : null;
  $("gauge").replaceChildren(...(picture ? [picture] : []));
}

const canvas = (name) => document.querySelector(`[data-plot=${name}] .canvas`);

function draw(name) {
  const found = data[name];
  if (!found || !data.account) return;
  const { account } = data, interval = account[account.quantity], ylabel = NAMES[account.quantity];
  let svg;
  if (name === "bounds") svg = dotPlot({ bounds: found, xlabel: ylabel, loss: account.quantity !== "tradeoff", label: `${found.length} bounds on ${ylabel}, from ${number(found[0]?.value)} up` });
  if (name === "users") {
    const steps = settings().steps, xlabel = steps ? "steps" : "users";
    svg = bandPlot({ points: found, xlabel, ylabel, logx: true, logy: account.quantity !== "tradeoff", mark: { x: Number(steps ?? account.crowd ?? settings().n), ...interval }, label: `${ylabel} over the number of ${xlabel}` });
  }
  if (name === "delta") {
    const mark = account.quantity === "delta" ? { x: account.epsilon, ...interval } : null;
    svg = bandPlot({ points: found, xlabel: "epsilon", ylabel: "delta", logy: true, mark, label: "delta over epsilon, guaranteed and leaked" });
  }
  if (name === "tradeoff") { // as the distance from the diagonal, on which nothing would be seen
    const gains = found.map(({ x, lower, upper }) => ({ x, lower: Math.max(0, 1 - x - upper), upper: Math.max(0, 1 - x - lower) }));
    svg = bandPlot({ points: gains, xlabel: "type I error", ylabel: "1 − type I − type II error", label: "what an attack gains over guessing, over its type I error" });
  }
  canvas(name).replaceChildren(svg);
  delete canvas(name).dataset.stale;
}

async function plot(name, given, signal) {
  const host = canvas(name);
  host.setAttribute("aria-busy", "true");
  try {
    if (name === "bounds") { data.bounds = (await ask("/api/bounds", given, signal)).bounds; draw(name); }
    else {
      let points = [], start = 0;
      while (start !== null) {
        const part = await ask("/api/curve", { ...given, curve: name, start }, signal);
        points = points.concat(part.points);
        start = part.next;
        if (points.length > 4 || start === null) { data[name] = points; draw(name); }
      }
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!data[name]) {
      host.replaceChildren(Object.assign(document.createElement("p"), { className: "note", textContent: error.message }));
      delete host.dataset.stale;
    }
  }
  host.removeAttribute("aria-busy");
  settled();
}

async function updateNumber(signal) {
  const given = settings();
  history.replaceState(null, "", `?${new URLSearchParams(given)}`);
  $("permalink").textContent = location.href;
  $("result").setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/api/account", given, signal);
    data = { account: answer };
    complain(null);
    showAnswer(answer);
  } catch (error) {
    if (error.name === "AbortError") return;
    data = {};
    complain(error);
  }
  $("result").removeAttribute("aria-busy");
}

async function updatePlots() {
  pending = new AbortController();
  const { signal } = pending, given = settings(), shown = data.account.epsilon;
  const top = typeof shown === "number" ? 2 * shown || 1 : 1.6 * (shown?.upper || data.account.eps0 || 1);
  await Promise.all([
    plot("delta", { ...given, top: String(Math.min(top, 1000)) }, signal).then(() => plot("users", given, signal)),
    plot("tradeoff", given, signal).then(() => plot("bounds", given, signal)),
  ]);
  if (!signal.aborted) document.body.dataset.ready = "all";
}

// One number at a time, always for the newest position; the plots once the hand rests.
const PATIENCE = 300; // ms, after which a newer position does not wait for an older one
let timer, asking = null, moved = false;
async function update() {
  document.body.dataset.ready = "";
  pending.abort();
  unsettled();
  clearTimeout(timer);
  moved = true;
  if (asking) {
    if (performance.now() - asking.since > PATIENCE) asking.stop.abort();
    return;
  }
  while (moved) {
    moved = false;
    asking = { since: performance.now(), stop: new AbortController() };
    await updateNumber(asking.stop.signal);
  }
  asking = null;
  settled();
  document.body.dataset.ready = "answer";
  if (data.account) timer = setTimeout(updatePlots, 60);
}

function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv(rows) {
  const cell = (value) => (/[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
  return [Object.keys(rows[0]), ...rows.map(Object.values)].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

for (const figure of document.querySelectorAll("[data-plot]")) {
  const name = figure.dataset.plot, row = document.createElement("div");
  row.className = "buttons";
  for (const [ending, make] of [["PNG", () => toPng(canvas(name).querySelector("svg"))], ["CSV", () => new Blob([csv([...data[name]].sort((p, q) => (p.x ?? p.value) - (q.x ?? q.value)))], { type: "text/csv" })]]) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: ending });
    button.setAttribute("aria-label", `Save ${name} as ${ending}`);
    button.dataset.save = name;
    button.addEventListener("click", async () => { if (data[name]) save(`shuffledp-${name}.${ending.toLowerCase()}`, await make()); });
    row.append(button);
  }
  figure.append(row);
}

$("save-json").addEventListener("click", () => save("shuffledp.json", new Blob([JSON.stringify(data, null, 2)], { type: "application/json" })));
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const words = $(button.dataset.copy).textContent;
    try { await navigator.clipboard.writeText(words); $("copied").textContent = "Copied."; }
    catch { getSelection().selectAllChildren($(button.dataset.copy)); $("copied").textContent = "Selected: press Ctrl+C."; }
  });
}

$("form").addEventListener("submit", (event) => event.preventDefault());
$("form").addEventListener("input", (event) => {
  if (event.target.id === "mechanism") parametersFor(event.target.value);
  if (event.target.id === "question") showQuestion();
  update();
});

let found = null;
$("calibrate").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("use").hidden = true;
  $("found").textContent = "searching…";
  const given = settings(), find = $("find").value;
  for (const name of ["delta", "epsilon", "alpha", "colluders", find]) delete given[name];
  if (find === "n") delete given.n;
  try {
    const answer = await ask("/api/calibrate", { ...given, find, epsilon: clean($("target-epsilon").value), delta: clean($("target-delta").value) });
    found = answer;
    const end = answer.delta ?? answer.epsilon, status = end.upper_end?.status ?? end.status;
    const shown = find === "n" ? answer.value.toLocaleString("en") : Number(answer.value.toPrecision(7));
    const what = find === "noise" ? `smallest ${answer.parameter}` : $("find").selectedOptions[0].text;
    $("found").textContent = `${what}: ${shown} (${status})${find === "noise" ? ` for ${answer.protocol}` : ""}`;
    $("found").dataset.value = String(answer.value);
    $("use").hidden = find === "noise";
  } catch (error) { $("found").textContent = error.message; }
});
$("use").addEventListener("click", () => {
  const box = $(found.find);
  box.value = String(found.value);
  box.follow?.();
  $("question").value = "epsilon";
  $("epsilon").value = clean($("target-epsilon").value);
  $("epsilon").follow();
  showQuestion();
  update();
});

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = dark ? "Use light colours" : "Use dark colours";
  for (const name of ["users", "delta", "tradeoff", "bounds"]) draw(name);
  drawGauge();
}
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
theme(matchMedia("(prefers-color-scheme: dark)").matches);

addEventListener("popstate", restore);

for (const place of document.querySelectorAll("[data-field]")) {
  const { label, low, high, log, hint } = place.dataset;
  field(place, place.dataset.field, { label, hint, log: log !== undefined, low: low === undefined ? undefined : Number(low), high: Number(high), start: DEFAULTS[place.dataset.field] });
}
mechanisms = await (await fetch("/api/mechanisms")).json();
$("mechanism").replaceChildren(...Object.entries(mechanisms).map(([name, { title }]) => new Option(title, name)));
restore();
