// Builds the client into ../dist, or with --tests bundles the tests below target/.
//
// What is written depends on the sources and the pinned packages alone: no time, no path, no randomness. So a second
// build on another machine gives the same bytes, and CI compares them with what the repository holds.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const dist = resolve(here, "../dist");
const testsOut = resolve(here, "../../../target/chat-web-tests");

/** The greatest sizes of script and style, compressed, in bytes. */
const LIMITS = { ".js": 150 * 1024, ".css": 30 * 1024 };

const common = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  write: false,
  logLevel: "warning",
};

/** Returns the contents of an entry point, minified. */
async function bundled(entry) {
  const result = await build({ ...common, entryPoints: [entry], minify: true, outdir: "out", splitting: false });
  return result.outputFiles[0].contents;
}

/** Writes contents under a name that has their hash in it, and returns the name. */
async function writeHashed(stem, extension, contents) {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 16);
  const name = `${stem}-${hash}${extension}`;
  const compressed = gzipSync(contents, { level: 9 }).length;
  console.log(`${name}: ${contents.length} bytes, ${compressed} compressed`);
  if (compressed > LIMITS[extension]) throw new Error(`${name} is larger than ${LIMITS[extension]} bytes compressed`);
  await writeFile(join(dist, name), contents);
  return name;
}

async function buildClient() {
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  const script = await writeHashed("app", ".js", await bundled("src/main.tsx"));
  const style = await writeHashed("app", ".css", await bundled("src/style/main.css"));
  const page = await readFile(join(here, "src/index.html"), "utf8");
  await writeFile(join(dist, "index.html"), page.replace("{{script}}", script).replace("{{style}}", style));
}

async function buildTests() {
  await rm(testsOut, { recursive: true, force: true });
  const names = (await readdir(join(here, "tests"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    ...common,
    entryPoints: names.map((name) => `tests/${name}`),
    outdir: testsOut,
    outExtension: { ".js": ".mjs" },
    platform: "node",
    write: true,
  });
}

await (process.argv.includes("--tests") ? buildTests() : buildClient());
