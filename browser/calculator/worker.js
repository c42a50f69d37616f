// Python in a worker: answers what the page asks, one question after the other.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const PACKAGES = "/lib/python3.11/site-packages";

async function start() {
  const [python, ...archives] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", self.location).href }),
    ...["numpy.zip", "shuffledp.zip"].map(async (name) => (await fetch(name)).arrayBuffer()),
  ]);
  for (const archive of archives) python.unpackArchive(archive, "zip", { extractDir: PACKAGES });
  const library = python.pyimport("ctypes");
  library.CDLL(`${PACKAGES}/no_backtrace.so`, library.RTLD_GLOBAL); // before NumPy asks for it
  return python.pyimport("shuffledp.interfaces.web.local");
}

const ready = start();

onmessage = async ({ data: { path, query } }) => {
  try {
    const found = (await ready).reply(path, query);
    const [status, body] = found.toJs();
    found.destroy();
    postMessage({ status, body });
  } catch (error) {
    const message = `Python could not answer in this browser: ${error.message}`;
    postMessage({ status: 500, body: JSON.stringify({ error: { kind: "bug", message } }) });
  }
};
