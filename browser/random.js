// Exact integers from random bytes, read in the order in which shuffledp's samplers read them for one report:
// the vectors in conformance/ hold bit for bit. No floating point takes part in what is drawn.

/** Random bytes; `fill(array)` overwrites an array, as crypto.getRandomValues does. */
export class Stream {
  constructor(fill = (array) => crypto.getRandomValues(array)) {
    this.fill = fill;
  }

  bytes(size) {
    const found = new Uint8Array(size);
    for (let start = 0; start < size; start += 65536) {
      this.fill(found.subarray(start, Math.min(size, start + 65536)));
    }
    return found;
  }

  /** `size` uniform integers of `width` bits (8, 16, 32, 64), little-endian. */
  words(size, width) {
    const step = width / 8;
    const bytes = this.bytes(size * step);
    const found = [];
    for (let i = 0; i < size; i++) {
      let word = 0n;
      for (let j = step - 1; j >= 0; j--) word = (word << 8n) | BigInt(bytes[i * step + j]);
      found.push(word);
    }
    return found;
  }

  /** `size` uniform integers below 2^count. */
  bits(size, count) {
    const width = [8, 16, 32, 64].find((each) => each >= count);
    const mask = (1n << BigInt(count)) - 1n;
    return this.words(size, width).map((word) => word & mask);
  }
}

export const BITS = 48;
export const ONE = 1n << 48n;

const bitLength = (value) => (value === 0n ? 0 : value.toString(2).length);

/** `size` uniform integers below `bound`. */
export function uniform(stream, bound, size) {
  bound = BigInt(bound);
  const count = bitLength(bound - 1n);
  if (bound === 1n << BigInt(count)) {
    return count ? stream.bits(size, count) : new Array(size).fill(0n);
  }
  if (bound >= 1n << 32n) throw new RangeError("bound: below 2^32, or a power of two");
  const width = [8, 16, 32].find((each) => bound < 1n << BigInt(each - 4) || each === 32);
  const low = (1n << BigInt(width)) - 1n;
  const odd = (1n << BigInt(width)) % bound;
  const found = new Array(size);
  let missing = Array.from({ length: size }, (_, i) => i);
  while (missing.length) {
    const words = stream.words(missing.length, width);
    missing = missing.filter((place, i) => {
      const product = words[i] * bound;
      found[place] = product >> BigInt(width);
      return (product & low) < odd;
    });
  }
  return found;
}

/** True with probability numerator / 2^48. */
export function bernoulli(stream, numerator) {
  numerator = BigInt(numerator);
  if (numerator === 0n || numerator === ONE) return numerator > 0n;
  const rest = BITS - 8;
  const [first] = stream.words(1, 8);
  const top = numerator >> BigInt(rest);
  if (first !== top) return first < top;
  const [tail] = stream.bits(1, rest);
  return tail < (numerator & ((1n << BigInt(rest)) - 1n));
}

/** True with probability exp(-numerators[i] / denominator), each ratio at most 1. */
function bernoulliExp(stream, numerators, denominator) {
  const found = new Array(numerators.length).fill(true);
  let active = numerators.map((_, i) => i);
  for (let trial = 1; active.length; ) {
    const drawn = uniform(stream, denominator, active.length);
    const again = trial > 1 ? uniform(stream, trial, active.length) : null;
    active = active.filter(
      (place, i) => drawn[i] < numerators[place] && (again === null || again[i] === 0n),
    );
    trial += 1;
    for (const place of active) found[place] = trial % 2 === 1;
  }
  return found;
}

/** How often a coin of probability 1/e succeeds before it fails. */
function units(stream, size) {
  const found = new Array(size).fill(0n);
  let active = Array.from({ length: size }, (_, i) => i);
  while (active.length) {
    const goesOn = bernoulliExp(stream, new Array(active.length).fill(1n), 1n);
    active = active.filter((_, i) => goesOn[i]);
    for (const place of active) found[place] += 1n;
  }
  return found;
}

/** The first `size` accepted proposals, if about this share of them is accepted. */
function accepted(size, share, propose) {
  const kept = [];
  for (let first = true; first || kept.length < size; first = false) {
    kept.push(...propose(Math.trunc((1.01 * (size - kept.length)) / share) + 16));
  }
  return kept.slice(0, size);
}

/** Pr[y] proportional to exp(-y p/q) on y >= 0. */
function geometric(stream, [p, q], size) {
  return accepted(size, 0.63, (more) => {
    const drawn = uniform(stream, q, more);
    const keep = bernoulliExp(stream, drawn, q);
    const parts = drawn.filter((_, i) => keep[i]);
    const whole = units(stream, parts.length);
    return parts.map((part, i) => (whole[i] * q + part) / p);
  });
}

/** Pr[y] proportional to exp(-|y| p/q). */
export function discreteLaplace(stream, rate) {
  const [p, q] = rate.map(BigInt);
  const share = 1.0 + 0.5 * Math.expm1(-Math.min(Number(p) / Number(q), 1.0));
  const [found] = accepted(1, share, (more) => {
    const distances = geometric(stream, [p, q], more);
    const signs = stream.bits(more, 1);
    return distances
      .map((distance, i) => (signs[i] ? -distance : distance))
      .filter((_, i) => distances[i] > 0n || !signs[i]);
  });
  return found;
}

const CELL = 8n * 48n - 16n;
const NEXT = 56n;
const LAST = CELL - NEXT;

/** Bytes of eight independent coins that show 1 with probability numerator / 2^48. */
export class Coins {
  constructor(numerator) {
    numerator = BigInt(numerator);
    this.owned = [];
    this.ends = [];
    let sure = 0n;
    let end = 0n;
    for (let byte = 0; byte < 256; byte++) {
      const ones = BigInt(byte.toString(2).replaceAll("0", "").length);
      const unit = numerator ** ones * (ONE - numerator) ** (8n - ones);
      sure += unit >> CELL;
      end += unit & ((1n << CELL) - 1n);
      this.owned.push(sure);
      this.ends.push(end);
    }
    this.sure = sure;
  }

  /** The first place whose end is above a value. */
  static above(ends, value) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value < ends[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  draw(stream, size) {
    const cells = stream.words(size, 16);
    const found = cells.map((cell) => (cell < this.sure ? Coins.above(this.owned, cell) : 0));
    const beyond = cells.map((_, i) => i).filter((i) => cells[i] >= this.sure);
    const near = this.ends.slice(0, -1).map((end) => end >> LAST);
    const places = stream
      .bits(beyond.length, Number(NEXT))
      .map((bits, i) => ((cells[beyond[i]] - this.sure) << NEXT) | bits);
    const unsure = [];
    beyond.forEach((place, i) => {
      found[place] = Coins.above(near, places[i]);
      if (found[place] > 0 && near[found[place] - 1] === places[i]) unsure.push(i);
    });
    for (const i of unsure) {
      let value = places[i];
      for (const byte of stream.bytes(Number(LAST) / 8)) value = (value << 8n) | BigInt(byte);
      found[beyond[i]] = Coins.above(this.ends, value);
    }
    return Uint8Array.from(found);
  }
}
