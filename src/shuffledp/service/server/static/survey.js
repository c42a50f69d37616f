// The survey page of a task: asks, randomizes, shows what leaves, sends.
import { Device, fetchTask, toHex } from "/static/device.js";

const $ = (id) => document.getElementById(id);
const state = (name, message = "") => {
  document.body.dataset.state = name;
  $("message").textContent = message;
};
const outward = (value) => {
  const rounded = Number(value.toPrecision(3));
  return String(rounded >= value ? rounded : Number((value * 1.005).toPrecision(3)));
};

function describe(task) {
  const { exact } = task.data.randomizer;
  if (!task.known) return "in a way that only a program can run";
  const share = (numerator) => `${outward((100 * numerator) / 2 ** 48)} %`;
  switch (exact.kind) {
    case "response":
      return `with a chance of ${share(exact.replace)}, one of the ${exact.k} answers is drawn in place of yours`;
    case "unary":
      return `each of ${exact.k} boxes is ticked or not at random; yours is lost with a chance of ${share(exact.lose)}, others are ticked with one of ${share(exact.flip)}`;
    case "one-bit":
      return `your number becomes a single yes or no, which is drawn anew with a chance of ${share(exact.replace)}`;
    default:
      return `random noise is added to your number`;
  }
}

function inWords(task, integers) {
  const { exact } = task.data.randomizer;
  const { question } = task.data;
  if (exact.kind === "response") {
    const place = Number(integers[0]);
    if (question.task === "histogram") return `“${question.categories[place]}”`;
    return `cell ${place + 1} of ${question.bins}`;
  }
  if (exact.kind === "unary") {
    const ticked = question.categories?.filter((_, i) => Number(integers[i >> 3]) & (128 >> (i & 7)));
    return ticked?.length ? `ticks at ${ticked.map((each) => `“${each}”`).join(", ")}` : "no ticks";
  }
  if (exact.kind === "one-bit") return Number(integers[0]) ? "“yes”" : "“no”";
  return `${integers[0]} on a scale from 0 to ${exact.levels}`;
}

function ask(task) {
  const { question } = task.data;
  const answers = $("answers");
  if (question.task === "histogram") {
    question.categories.forEach((each, i) => {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type: "radio", name: "value", value: each, required: true, id: `value-${i}` });
      label.append(input, each);
      answers.append(label);
    });
    return () => new FormData($("form")).get("value");
  }
  const label = Object.assign(document.createElement("label"), { htmlFor: "value" });
  const input = Object.assign(document.createElement("input"), { type: "number", id: "value", name: "value", required: true, step: "any", min: question.low, max: question.high });
  label.append(`A number from ${question.low} to ${question.high}`);
  answers.append(label, input);
  return () => Number(input.value);
}

function show(task, id) {
  const { guarantee, batch, title } = task.data;
  document.title = title;
  $("title").textContent = title;
  $("device").textContent = describe(task);
  $("minimum").textContent = batch.minimum.toLocaleString("en");
  $("promise").textContent = `Whatever you answer changes the chance of any result by a factor of at most e^${outward(guarantee.epsilon)}, except with a probability of ${guarantee.delta} (${guarantee.status}: ${guarantee.theorem}).`;
  $("command").textContent = `shuffledp report --task ${location.origin}/v1/tasks/${id} --value -`;
}

async function start() {
  const id = location.pathname.split("/").pop();
  const task = await fetchTask(id);
  show(task, id);
  const now = Date.now() / 1000;
  const memory = `shuffledp ${id}`;
  if (!task.known) return state("failed", "This question is for programs, not for browsers.");
  if (now < task.data.time.opens) return state("closed", "This question is not open yet.");
  if (now >= task.data.time.expires) return state("closed", "This question is closed.");
  if (localStorage.getItem(memory)) return state("sent", "This browser has answered already. Thank you.");
  const answer = ask(task);
  const device = new Device(task);
  let sealed = null;
  $("form").hidden = false;
  state("ready");
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $("form").querySelector("button");
    button.disabled = true;
    state("sending", "Sending …");
    try {
      sealed ??= device.report(answer()); // drawn once: another try sends the same
      const record = await device.send(sealed);
      localStorage.setItem(memory, "reported");
      $("report").textContent = `The randomized report ${inWords(task, sealed.integers)}, and nothing else about you. It may or may not be what you chose.`;
      $("record").textContent = toHex(record);
      $("form").hidden = true;
      $("sent").hidden = false;
      state("sent", "Sent. Thank you.");
    } catch (error) {
      button.disabled = false;
      state("failed", `${error.message} Your answer has not left this device readable by anybody.`);
    }
  });
}

start().catch((error) => state("failed", error.message));
