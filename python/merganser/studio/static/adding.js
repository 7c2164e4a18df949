// Add a tokenizer: a dialog with a list of those that are known here, a field that filters it and takes any name, buttons
// for files and folders, and a drop zone. Files can also be dropped anywhere on the page. The pattern is asked for only if
// it is not known, with a suggestion.
import { announce, button, choice, fill, labeled, make } from "./dom.js";
import { size as sizeOf } from "./files.js";
import { visible } from "./glyphs.js";

const OF_TOKENIZERS = /\.(json|model|tiktoken|gguf|merganser|txt|bpe|spm|gz)$|\.model\.v\w+$/i;
const OTHERS = /^(config|generation_config|special_tokens_map|added_tokens|preprocessor_config|model\.safetensors\.index)\.json$|^readme/i;
const GGUF_START = 1 << 27; // bytes: the tokenizer is before the tensors
const DEEPEST = 2; // folders in a dropped folder

let dialog;

/** Opens the dialog; `done(name)` is called when a tokenizer was added. With `files`, adds them at once. */
export function openAdding(api, done, files) {
  dialog?.remove();
  const problem = make("p", { class: "error", role: "alert" });
  const status = make("p", { class: "quiet", role: "status" });
  const question = make("form", { class: "stack question" });
  const close = () => dialog.close();

  async function attempt(work) {
    fill(problem);
    status.textContent = "Loading…";
    dialog.classList.add("busy");
    try {
      const answer = await work();
      if (answer.needs) return answer;
      close();
      announce(`${answer.name} was added`);
      await done(answer.name);
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      status.textContent = "";
      dialog.classList.remove("busy");
    }
    return undefined;
  }

  async function add(chosen, pattern) {
    fill(question);
    const usable = chosen.filter(({ name }) => chosen.length === 1 || (OF_TOKENIZERS.test(name) && !OTHERS.test(name)));
    if (!usable.length) { problem.textContent = "None of these files is a tokenizer; choose a tokenizer.json, .tiktoken, .model, .gguf or .merganser file, or their folder."; return; }
    const answer = await attempt(async () => api.postBytes("tokenizers/add", await packed(usable, pattern)));
    if (answer) ask((given) => add(chosen, given), answer);
  }

  async function addListed(entry, pattern) {
    fill(question);
    const answer = await attempt(() => (entry.file ? api.post("tokenizers/nearby", { file: entry.file, pattern }) : api.post("tokenizers/name", { name: entry.name })));
    if (answer) ask((given) => addListed(entry, given), answer);
  }

  /** Asks for the pattern. */
  function ask(again, { patterns, suggested, reason }) {
    const own = make("input", { type: "text", placeholder: "regular expression", spellcheck: "false", "aria-label": "Regular expression", hidden: true });
    const which = choice([...patterns.map((name) => [name, name]), ["", "another…"]], suggested, (name) => { own.hidden = name !== ""; });
    fill(question, make("p", {}, "This file has tokens but no split pattern. ", reason), make("div", { class: "row" }, labeled("Pattern", which), own,
      make("button", { type: "submit", class: "primary" }, "Add")));
    question.onsubmit = (event) => {
      event.preventDefault();
      again(which.value || own.value);
    };
    which.focus();
  }

  const name = make("input", { type: "text", placeholder: "Filter, or type a name", spellcheck: "false", autocomplete: "off", oninput: () => list() });
  const known = make("div", { class: "known", role: "group", "aria-label": "Known tokenizers", onkeydown: step });
  let entries = { here: [], downloads: [] };
  const byName = make("form", { class: "row" }, labeled("Name", name), make("button", { type: "submit" }, "Load"));
  byName.onsubmit = (event) => {
    event.preventDefault();
    if (name.value.trim()) attempt(() => api.post("tokenizers/name", { name: name.value }));
  };
  name.onkeydown = (event) => { if (event.key === "ArrowDown") step(event); };

  /** Lists what matches the field. */
  function list() {
    const wanted = name.value.trim().toLowerCase();
    const group = (title, all) => {
      const found = all.filter(({ label, note, also = [] }) => [label, note, ...also].join(" ").toLowerCase().includes(wanted));
      return found.length ? [make("h3", {}, title), ...found.map((entry) => make("button", { type: "button", class: "entry", onclick: () => addListed(entry) },
        make("bdi", { class: "path" }, visible(entry.label, false)), make("span", { class: "quiet" }, entry.bytes ? sizeOf(entry.bytes) : "", entry.bytes && entry.note ? " · " : "", make("bdi", {}, visible(entry.note, false)))))] : [];
    };
    const shown = [...group("On this machine", entries.here), ...group("Downloaded when you choose it", entries.downloads)];
    fill(known, ...(shown.length ? shown : [make("p", { class: "quiet" }, wanted ? "Not in the list. Load looks the name up in tiktoken and on the Hugging Face hub."
      : "Nothing is listed: no tokenizer file is near the folder of the studio. Names need tiktoken or huggingface_hub: pip install tiktoken huggingface_hub")]));
  }

  /** Arrow keys move through the list and back to the field. */
  function step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const all = [name, ...known.querySelectorAll("button")];
    all[Math.min(Math.max(all.indexOf(document.activeElement) + by, 0), all.length - 1)].focus();
  }

  const picker = (properties, text) => {
    const input = make("input", { type: "file", class: "unseen", multiple: true, tabindex: "-1", "aria-label": text, ...properties, onchange: () => { add([...input.files]); input.value = ""; } });
    return [input, button(text, () => input.click())];
  };
  const zone = make("div", { class: "drop-zone" },
    make("p", {}, make("strong", {}, "Drop a tokenizer here")),
    make("p", { class: "quiet" }, "tokenizer.json, .tiktoken, .model, .gguf, .merganser, or a folder with one"),
    make("div", { class: "buttons" }, ...picker({ "data-pick": "files" }, "Choose files"), ...picker({ webkitdirectory: "", "data-pick": "folder" }, "Choose a folder")));
  dialog = make("dialog", { class: "adding", "aria-labelledby": "adding-title", onclose: () => dialog.remove() },
    make("div", { class: "row end" }, make("h2", { id: "adding-title" }, "Add a tokenizer"), button("×", close, { class: "plain", "aria-label": "Close" })),
    byName, known, question, status, problem, zone,
    make("p", { class: "quiet" }, "Files are read on this machine; nothing in them is executed."));
  document.body.append(dialog);
  dialog.showModal();
  name.focus();
  api.get("tokenizers/known").then((found) => {
    entries = found;
    list();
  }).catch((error) => { problem.textContent = error.message; });
  if (files) add(files);
}

/** Accepts files that are dropped anywhere on the page. */
export function acceptDrops(open) {
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.documentElement.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.documentElement.classList.remove("dropping"); });
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.documentElement.classList.remove("dropping");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = [...event.dataTransfer.files];
    open(entries.some((entry) => entry.isDirectory) ? (await Promise.all(entries.map((entry) => filesIn(entry)))).flat() : plain);
  });
}

/** The files of a dropped folder. */
async function filesIn(entry, depth = 0) {
  if (entry.isFile) return [await new Promise((resolve, reject) => { entry.file(resolve, reject); })];
  if (depth >= DEEPEST) return [];
  const reader = entry.createReader();
  const found = [];
  for (let batch; (batch = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); })).length;) found.push(...batch);
  return (await Promise.all(found.map((each) => filesIn(each, depth + 1)))).flat();
}

/** Files after a JSON header, as `Upload` in tokenizers.py reads them. */
async function packed(files, pattern) {
  const parts = files.slice(0, 32).map((file) => [file.name, /\.gguf$/i.test(file.name) && file.size > GGUF_START ? file.slice(0, GGUF_START) : file]);
  const folder = files[0].webkitRelativePath?.split("/")[0];
  const header = new TextEncoder().encode(JSON.stringify({ name: folder || undefined, pattern, files: parts.map(([name, part]) => ({ name, size: part.size })) }));
  const size = new DataView(new ArrayBuffer(4));
  size.setUint32(0, header.length, true);
  return new Blob([size, header, ...parts.map(([, part]) => part)]);
}
