// Questions of the page go to a worker instead of a server. Nothing leaves the browser.
const worker = new Worker("worker.js", { type: "module" });
const elsewhere = window.fetch;
const waiting = [];
let current = null;

worker.onmessage = ({ data: { status, body } }) => {
  current.done(new Response(body, { status, headers: { "content-type": "application/json" } }));
  current = null;
  next();
};

function next() {
  if (current || !waiting.length) return;
  current = waiting.shift();
  worker.postMessage({ path: current.path, query: current.query });
}

window.fetch = (address, { signal } = {}) => {
  const { pathname, search } = new URL(address, location.origin);
  if (!pathname.startsWith("/api/")) return elsewhere(address, { signal });
  return new Promise((done, failed) => {
    const question = { path: pathname, query: search.slice(1), done };
    if (pathname === "/api/account") waiting.unshift(question); // the number before the plots
    else waiting.push(question);
    signal?.addEventListener("abort", () => {
      if (waiting.includes(question)) waiting.splice(waiting.indexOf(question), 1);
      failed(new DOMException("Another question was asked.", "AbortError"));
    });
    next();
  });
};

document.getElementById("number").textContent = "Loading Python …";
