// Builds the three applications, each into a folder of its own: node build.mjs OUT
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { compile } from "svelte/compiler";
import { compileScript, parse } from "vue/compiler-sfc";

const through = (name, ending, compiled) => ({
  name,
  setup(made) {
    made.onLoad({ filter: ending }, async ({ path }) => ({ contents: compiled(await readFile(path, "utf8"), path), loader: "js" }));
  },
});
const vue = through("vue", /\.vue$/, (source, filename) => {
  const { descriptor } = parse(source, { filename });
  return compileScript(descriptor, { id: basename(filename), inlineTemplate: true }).content;
});
const svelte = through("svelte", /\.svelte$/, (source, filename) => compile(source, { filename, generate: "client" }).js.code);

const applications = { react: ["main.jsx", "root"], vue: ["main.js", "app"], svelte: ["main.js", ""] };
for (const [name, [entry, mount]] of Object.entries(applications)) {
  await build({
    entryPoints: [join(name, entry)],
    outdir: join(process.argv[2], name, "assets"),
    entryNames: "main",
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    jsx: "automatic",
    conditions: ["production", "svelte", "browser"],
    define: {
      "process.env.NODE_ENV": '"production"',
      __VUE_OPTIONS_API__: "false",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
    plugins: [vue, svelte],
    logLevel: "warning",
  });
  const place = mount ? `<div id="${mount}"></div>` : "";
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${name}</title>
<script type="module" crossorigin src="/assets/main.js"></script></head><body>${place}</body></html>
`;
  await writeFile(join(process.argv[2], name, "index.html"), page);
}
