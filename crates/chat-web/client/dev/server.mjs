// Serves ../dist for development and lends the browser the account of an API key, without a session:
//
//   node dev/server.mjs --server http://127.0.0.1:9991 --email ada@example.org --key KEY [--port 9995]
//
// Requests to /json/ go to /api/v1/ of that server with the key; everything else that is no file of the client goes
// there as it is. For one person on their own machine: who reaches the port is that account.
import { createServer, request as forward } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const dist = resolve(dirname(fileURLToPath(import.meta.url)), "../../dist");
const { values } = parseArgs({
  options: {
    server: { type: "string", default: "http://127.0.0.1:9991" },
    email: { type: "string" },
    key: { type: "string" },
    port: { type: "string", default: "9995" },
  },
});
const server = new URL(values.server);
const authorization = `Basic ${Buffer.from(`${values.email}:${values.key}`).toString("base64")}`;

/** What the real server sends with the client: mistakes against it show here too. */
const POLICY = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; frame-ancestors 'none'";
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

async function serveFile(name, response) {
  const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
  const contents = await readFile(join(dist, name));
  response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": POLICY, "Cache-Control": "no-store" });
  response.end(contents);
}

function pass(incoming, response) {
  const isApi = incoming.url.startsWith("/json/");
  const path = isApi ? `/api/v1/${incoming.url.slice("/json/".length)}` : incoming.url;
  const { cookie: _cookie, ...headers } = incoming.headers;
  const lent = isApi || incoming.url.startsWith("/user_uploads") ? { authorization } : {};
  const onward = forward(
    { host: server.hostname, port: server.port, method: incoming.method, path, headers: { ...headers, ...lent, host: server.host } },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on("error", () => response.writeHead(502).end());
  response.on("close", () => onward.destroy());
  incoming.pipe(onward);
}

createServer((incoming, response) => {
  const path = incoming.url.split("?")[0];
  const asset = /^\/static\/web\/([A-Za-z0-9.-]+)$/.exec(path)?.[1];
  const served = path === "/" ? serveFile("index.html", response) : asset ? serveFile(asset, response) : pass(incoming, response);
  Promise.resolve(served).catch(() => response.writeHead(404).end());
}).listen(Number(values.port), "127.0.0.1", () => console.log(`http://127.0.0.1:${values.port}/`));
