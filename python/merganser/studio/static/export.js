// Export: the tokens of a text as ids, JSON, CSV, Python, a notebook or a picture, and the tokenizer as a file.
import { button, copy, download, make, number } from "./dom.js";
import { hex, shownBytes, visible } from "./glyphs.js";
import { tintOf } from "./tokens.js";

const LONGEST_COPY = 200000; // tokens

/** A menu of exports. `current()` returns {tokenizer: {name, source, …}, encoded, specials, figures}. */
export function exportMenu(api, current) {
  const isTooLong = () => current().encoded.count > LONGEST_COPY && `${number(current().encoded.count)} tokens are too many to copy; export a file`;
  const copying = (name, contents) => {
    const control = button(name, () => copy(isTooLong() || contents(current()), control));
    return control;
  };
  const saving = (name, file, type, contents) => button(name, async () => download(`${stem(current())}${file}`, type, await contents(current())));
  const menu = make("details", { class: "menu" }, make("summary", {}, "Export"), make("div", { class: "items" },
    copying("Copy ids", ({ encoded }) => `[${encoded.ids.join(", ")}]`),
    copying("Copy JSON", (now) => json(now)),
    copying("Copy Python", (now) => python(now)),
    saving("Tokens as CSV", ".csv", "text/csv", csv),
    saving("Tokens as JSON", ".json", "application/json", json),
    saving("Image card", ".png", "image/png", card),
    saving("Notebook", ".ipynb", "application/x-ipynb+json", notebook),
    button("Tokenizer file", async () => {
      const { tokenizer } = current();
      download(fileOf(tokenizer), "application/octet-stream", await api.bytes("tokenizers/file", { tokenizer: tokenizer.name }));
    })));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.firstChild.focus();
  });
  addEventListener("click", (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; });
  return menu;
}

/** A name as a part of a file name. */
export const fileName = (name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 60) || "tokenizer";
const stem = ({ tokenizer }) => `tokens-${fileName(tokenizer.name)}`;
const fileOf = ({ name }) => `${fileName(name)}.merganser`;

const rowOf = (encoded, k) => [k, encoded.ids[k], shownBytes(encoded.bytes(k), false), hex(encoded.bytes(k)), encoded.start(k), encoded.end(k)];

function json({ tokenizer, encoded }) {
  const tokens = Array.from(encoded.ids, (_, k) => shownBytes(encoded.bytes(k), false));
  return JSON.stringify({ tokenizer: tokenizer.name, text: encoded.text, ids: [...encoded.ids], tokens });
}

/** One row for each token; offsets count UTF-16 units. A cell that a spreadsheet would calculate starts with an apostrophe. */
function csv({ encoded }) {
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = ["index,id,token,bytes,start,end"];
  for (let k = 0; k < encoded.count; k += 1) lines.push(rowOf(encoded, k).map(cell).join(","));
  return `${lines.join("\n")}\n`;
}

/** The lines of a Python program that load the tokenizer. */
function loading(tokenizer) {
  const { source } = tokenizer;
  if (!source) {
    return ["import merganser", "", `# In the studio, Export > Tokenizer file saves ${fileOf(tokenizer)}.`, `tokenizer = merganser.load(${JSON.stringify(fileOf(tokenizer))})`];
  }
  // A tokenizer from another library is loaded from a live object of that library.
  const library = /^merganser\.load\((tiktoken|tokenizers|transformers)\./.exec(source);
  return ["import merganser", ...(library ? [`import ${library[1]}`] : []), "", `tokenizer = ${source}`];
}

const encoding = (specials) => `tokenizer.encode(text, ${specials ? 'allowed_special="all"' : "disallowed_special=()"})`;

/** A Python program that produces the same ids. */
function python({ tokenizer, encoded, specials }) {
  return [...loading(tokenizer), `text = ${JSON.stringify(encoded.text)}`, `ids = [${encoded.ids.join(", ")}]`, `assert ${encoding(specials)} == ids`, ""].join("\n");
}

/** A notebook that reproduces the page: the tokens of the text, and the count that the page shows. */
function notebook({ tokenizer, encoded, specials }) {
  const cell = (type, lines) => ({
    cell_type: type, id: `cell-${type}-${lines.length}-${lines[0].length}`, metadata: {},
    ...(type === "code" ? { execution_count: null, outputs: [] } : {}),
    source: lines.map((line, n) => (n + 1 < lines.length ? `${line}\n` : line)),
  });
  return JSON.stringify({
    cells: [
      cell("markdown", [`# ${number(encoded.count)} tokens by ${visible(tokenizer.name, false).replace(/[`*_<>[\]]/g, "\\$&")}`, "", "Exported from merganser studio."]),
      cell("code", loading(tokenizer)),
      cell("code", [`text = ${JSON.stringify(encoded.text)}`, `tokenizer.show(text${specials ? ', allowed_special="all"' : ""})`]),
      cell("code", [`ids = ${encoding(specials)}`, `assert len(ids) == ${encoded.count}`, "ids[:20]"]),
    ],
    metadata: { kernelspec: { display_name: "Python 3", language: "python", name: "python3" }, language_info: { name: "python" } },
    nbformat: 4, nbformat_minor: 5,
  }, null, 1);
}

const CARD = { width: 1200, height: 630, scale: 2, margin: 56, font: 26, row: 44 };
const TINTS = ["#cce3f0", "#fae1c7", "#ccece3", "#f5d6e0", "#e3e4e6"];

/** A picture of the first tokens with their number, in the size of a link preview. */
async function card({ tokenizer, encoded, figures }) {
  const { width, height, scale, margin, font, row } = CARD;
  const canvas = make("canvas", { width: width * scale, height: height * scale });
  const context = canvas.getContext("2d");
  const mono = getComputedStyle(document.documentElement).getPropertyValue("--mono");
  context.scale(scale, scale);
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, width, height);
  context.textBaseline = "alphabetic";
  const write = (text, x, y, style, color) => { [context.font, context.fillStyle] = [style, color]; context.fillText(text, x, y); };
  write(number(encoded.count), margin, 128, "700 84px Arial, sans-serif", "#202124");
  const after = margin + context.measureText(number(encoded.count)).width + 18;
  write(`token${encoded.count === 1 ? "" : "s"}`, after, 128, "34px Arial, sans-serif", "#595e64");
  write(`${visible(tokenizer.name, false).slice(0, 40)} · ${number(figures.bytes)} bytes · ${number(encoded.count ? figures.bytes / encoded.count : 0, 2)} bytes per token`,
    margin, 178, "24px Arial, sans-serif", "#595e64");
  let [x, y, last] = [margin, 236, -1];
  context.font = `${font}px ${mono}`;
  for (let k = 0; k < encoded.count;) {
    const end = encoded.segmentEnd(k);
    const [start, stop] = [encoded.end(k - 1), encoded.end(end - 1)];
    const text = visible(encoded.text.slice(start, stop));
    const size = Math.min(context.measureText(text).width + 4, width - 2 * margin);
    if (x + size > width - margin) [x, y] = [margin, y + row];
    if (y > height - 70) { write("…", x, y, `${font}px ${mono}`, "#595e64"); break; }
    last = tintOf(encoded.text, start, stop, last);
    context.fillStyle = TINTS[last];
    context.beginPath();
    context.roundRect(x, y - font, size, font + 11, 5);
    context.fill();
    context.fillStyle = "#202124";
    context.fillText(text, x + 2, y, width - 2 * margin);
    x += size + 2;
    if (text.endsWith("⏎")) [x, y] = [margin, y + row];
    k = end;
  }
  write("merganser studio", margin, height - 26, "600 20px Arial, sans-serif", "#0063a1");
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}
