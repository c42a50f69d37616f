// A device in a browser: one person's value goes in, one sealed report comes out. docs/protocol.md has every byte.

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { BITS, Coins, ONE, Stream, bernoulli, discreteLaplace, uniform } from "./random.js";

export { Stream };

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes128Gcm(),
});
const text = new TextEncoder();
const REPORT_ID = 16;
const MEDIA = "application/shuffledp-reports-1";
const SIZES = { int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8 };

export const toHex = (bytes) => Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");

export function fromHex(digits) {
  if (!/^([0-9a-f]{2})*$/.test(digits)) throw new Error("lower-case hexadecimal digits are needed");
  return Uint8Array.from(digits.match(/../g) ?? [], (each) => parseInt(each, 16));
}

function joined(...parts) {
  const found = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    found.set(part, place);
    place += part.length;
  }
  return found;
}

const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** The name of a public key. */
export async function keyId(raw) {
  return (await sha256(joined(text.encode("shuffledp key 1"), raw))).slice(0, 8);
}

/** HPKE, base mode; `ekm` fixes the ephemeral key and is for test vectors only. */
export async function seal(raw, info, message, ekm = undefined) {
  const recipientPublicKey = await suite.kem.deserializePublicKey(raw);
  const sender = await suite.createSenderContext({ recipientPublicKey, info, ekm });
  return joined(new Uint8Array(sender.enc), new Uint8Array(await sender.seal(message)));
}

/** A task: the document, byte for byte, and its name, which must be its digest. */
export class Task {
  static async read(bytes, id) {
    const digest = await sha256(bytes);
    if (toHex(digest) !== id) throw new Error("this is not the task that was asked for");
    const data = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (data.protocol !== "shuffledp-task-1") throw new Error(`unknown protocol ${data.protocol}`);
    return new Task(data, digest);
  }

  constructor(data, digest) {
    this.data = data;
    this.digest = digest;
    this.id = toHex(digest);
  }

  /** Whether this module knows its device. */
  get known() {
    return this.data.randomizer.exact !== null && this.data.randomizer.exact.kind in RUN;
  }

  /** What the device takes: a place in the list, or a share of the range. */
  input(value) {
    const asked = this.data.question;
    if (asked.task === "histogram") {
      let place = asked.categories.indexOf(value);
      if (place < 0) place = asked.other ? asked.categories.indexOf(asked.other) : -1;
      if (place < 0) throw new RangeError("the value must be one of the task's categories");
      return place;
    }
    if (typeof value !== "number" || Number.isNaN(value)) throw new RangeError("the value must be a number");
    const share = Math.min(Math.max((value - asked.low) / (asked.high - asked.low), 0), 1);
    return asked.task === "quantiles" ? Math.min(Math.floor(share * asked.bins), asked.bins - 1) : share;
  }

  /** The integers of a report, from an input. */
  randomize(input, stream = new Stream()) {
    const exact = this.data.randomizer.exact;
    return RUN[exact.kind](exact, input, stream);
  }

  /** Integers as bytes, little-endian, padded with zeros. */
  padded(integers) {
    const { type, length } = this.data.report;
    const found = new Uint8Array(length);
    integers.forEach((integer, column) => {
      let rest = BigInt.asUintN(8 * SIZES[type], BigInt(integer));
      for (let i = 0; i < SIZES[type]; i++, rest >>= 8n) found[column * SIZES[type] + i] = Number(rest & 255n);
    });
    return found;
  }

  async innerInfo() {
    const raw = fromHex(this.data.keys.analyst);
    return joined(text.encode("shuffledp inner 1\0"), this.digest, await keyId(raw));
  }

  /** Sealed to the analyst. */
  async inner(report, ekm = undefined) {
    return seal(fromHex(this.data.keys.analyst), await this.innerInfo(), report, ekm);
  }

  /** What is sent, sealed to that key of the shuffler. */
  async record(inner, reportId, place = 0, ekm = undefined) {
    const raw = fromHex(this.data.keys.shuffler[place]);
    const id = await keyId(raw);
    const info = joined(text.encode("shuffledp outer 1\0"), this.digest, id);
    return joined(id, await seal(raw, info, joined(reportId, inner), ekm));
  }
}

function response(k, replace, value, stream) {
  return bernoulli(stream, replace) ? uniform(stream, k, 1)[0] : BigInt(value);
}

const RUN = {
  response: ({ k, replace }, place, stream) => [response(k, replace, place, stream)],

  unary({ k, lose, flip }, place, stream) {
    const columns = Math.ceil(k / 8);
    const found = new Coins(flip).draw(stream, columns);
    found[columns - 1] &= 0xff << ((8 - (k % 8)) % 8);
    const bit = 128 >> (place & 7);
    const kept = !bernoulli(stream, lose);
    found[place >> 3] = (found[place >> 3] & ~bit) | (kept ? bit : 0);
    return Array.from(found);
  },

  "one-bit"({ replace }, share, stream) {
    const [drawn] = stream.bits(1, BITS);
    const coin = drawn < BigInt(nearest(share * Number(ONE)));
    return [response(2, replace, coin ? 1 : 0, stream)];
  },

  "discrete-laplace"({ levels, rate, clamped }, share, stream) {
    const scaled = share * levels;
    const below = Math.floor(scaled);
    const [drawn] = stream.bits(1, 32);
    const start = BigInt(below) + (drawn < BigInt(Math.trunc((scaled - below) * 2 ** 32)) ? 1n : 0n);
    const found = start + discreteLaplace(stream, rate);
    const most = BigInt(levels);
    return [clamped ? (found < 0n ? 0n : found > most ? most : found) : found];
  },
};

/** The nearest integer; of two, the even one. */
function nearest(value) {
  const below = Math.floor(value);
  const part = value - below;
  return part > 0.5 || (part === 0.5 && below % 2 === 1) ? below + 1 : below;
}

/** Runs a task for one person, once: who reports twice takes part in two rounds. */
export class Device {
  constructor(task, stream = new Stream()) {
    this.task = task;
    this.stream = stream;
    this.reported = false;
  }

  /** What will leave this device, before it is sealed; drawn once. */
  report(value) {
    if (this.reported) throw new Error("this device has reported already");
    const integers = this.task.randomize(this.task.input(value), this.stream);
    this.reported = true;
    return { integers, report: this.task.padded(integers), id: this.stream.bytes(REPORT_ID) };
  }

  /** Send a report until it is acknowledged; it enters once, however often it is sent. */
  async send(sealed, { base = "", attempts = 8, pause = wait } = {}) {
    const inner = await this.task.inner(sealed.report);
    const address = `${base}/v1/tasks/${this.task.id}/reports`;
    let place = 0;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const body = await this.task.record(inner, sealed.id, place);
      let answer = null;
      try {
        answer = await fetch(address, { method: "POST", body, headers: { "content-type": MEDIA } });
      } catch {
        // no answer: the same again
      }
      if (answer?.status === 201) return body;
      if (answer && answer.status < 500 && ![408, 429].includes(answer.status)) {
        const problem = await answer.json().catch(() => ({}));
        const code = String(problem.type ?? "").replace("urn:shuffledp:problem:", "");
        if (code === "unknown-key" && place + 1 < this.task.data.keys.shuffler.length) {
          place += 1;
          continue;
        }
        throw new Error(problem.title ?? `the shuffler refuses (${answer.status})`);
      }
      const asked = Number(answer?.headers.get("retry-after") ?? 0);
      await pause(Math.max(1000 * Math.min(asked, 60), 100 * 2 ** attempt * (1 + Math.random())));
    }
    throw new Error("the shuffler gives no answer; nothing is lost, try again later");
  }
}

const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A task from a shuffler. */
export async function fetchTask(id, base = "") {
  const answer = await fetch(`${base}/v1/tasks/${id}`);
  if (!answer.ok) throw new Error("this shuffler has no such task");
  return Task.read(new Uint8Array(await answer.arrayBuffer()), id);
}
