// The browser device against conformance/*.json, in Node: node conformance.mjs BUNDLE FOLDER
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [bundle, folder] = process.argv.slice(2);
const { Stream, Task, fromHex, keyId, seal, toHex } = await import(pathToFileURL(bundle));
const read = (name) => JSON.parse(readFileSync(`${folder}/${name}`, "utf-8"));
let checked = 0;

function same(found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }
  checked += 1;
}

/** Given bytes, and no others. */
function replay(digits) {
  let left = fromHex(digits);
  const stream = new Stream((array) => {
    if (array.length > left.length) throw new Error("more random bytes than the vector has");
    array.set(left.subarray(0, array.length));
    left = left.subarray(array.length);
  });
  return [stream, () => left.length];
}

for (const { question, report, exact, cases } of read("randomizers.json")) {
  const task = new Task({ question, report, randomizer: { exact } }, new Uint8Array(32));
  for (const { value, random, integers, report: padded } of cases) {
    const [stream, left] = replay(random);
    const found = task.randomize(task.input(value), stream);
    same(found.map(Number), integers, `${exact.kind} of ${value}`);
    same(toHex(task.padded(found)), padded, `${exact.kind} of ${value}, padded`);
    same(left(), 0, "random bytes left");
  }
}
for (const each of read("hpke.json")) {
  const material = fromHex(each.ephemeral_material).buffer;
  const found = await seal(fromHex(each.public), fromHex(each.info), fromHex(each.message), material);
  same(toHex(found), each.sealed, "hpke");
  same(toHex(await keyId(fromHex(each.public))), each.key_id, "key id");
}
for (const each of read("wire.json")) {
  const task = await Task.read(new TextEncoder().encode(each.document), each.task);
  const inner = await task.inner(fromHex(each.report), fromHex(each.inner_material).buffer);
  same(toHex(inner), each.inner, "inner");
  for (const [place, record] of each.records.entries()) {
    const material = fromHex(each.outer_material).buffer;
    same(toHex(await task.record(inner, fromHex(each.report_id), place, material)), record, "record");
  }
}
console.log(`${checked} checks`);
