// Files: a list to choose from, with sizes, a filter, and the total of what is chosen.
import { fill, make, number, uniqueId } from "./dom.js";

const MOST = 200; // rows; the filter finds the others

/** 1,234,567 bytes as "1.2 MB". */
export function size(bytes) {
  for (const [unit, factor] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (bytes >= factor) return `${number(bytes / factor, bytes < 100 * factor ? 1 : 0)} ${unit}`;
  return `${number(bytes)} bytes`;
}

/** A picker of files below `folders`. `value` is the list of chosen paths; `onchange` is called with it. */
export class FilePicker {
  constructor(files, folders, chosen, onchange) {
    this.files = files;
    this.folders = folders;
    this.chosen = new Set(chosen);
    this.onchange = onchange;
    this.filter = make("input", { type: "search", placeholder: "Filter, or type a path", "aria-label": "Filter files, or type a path", spellcheck: "false", autocomplete: "off", oninput: () => this.draw() });
    this.list = make("ul", { class: "files", "aria-label": "Files" });
    this.total = make("p", { class: "quiet", role: "status" });
    this.element = make("div", { class: "stack picker", id: uniqueId("files") }, this.filter, this.list, this.total);
    this.draw();
  }

  /** The chosen paths; a path that was typed counts if nothing is chosen. */
  get value() {
    const typed = this.filter.value.trim();
    if (this.chosen.size) return [...this.chosen];
    return typed ? [typed] : [];
  }

  /** The path without the folder that all are in. */
  name(path) {
    const root = this.folders.find((folder) => path.startsWith(`${folder}/`));
    return root && this.folders.length === 1 ? path.slice(root.length + 1) : path;
  }

  draw() {
    const wanted = this.filter.value.trim().toLowerCase();
    const found = this.files.filter(({ path }) => this.chosen.has(path) || path.toLowerCase().includes(wanted));
    fill(this.list, ...found.slice(0, MOST).map(({ path, bytes }) => {
      const box = make("input", { type: "checkbox", onchange: () => {
        if (box.checked) this.chosen.add(path);
        else this.chosen.delete(path);
        this.sum();
        this.onchange(this.value);
      } });
      box.checked = this.chosen.has(path);
      return make("li", {}, make("label", {}, box, make("bdi", { class: "path" }, this.name(path)), make("span", { class: "number quiet" }, size(bytes))));
    }));
    this.list.hidden = !found.length;
    this.sum(found.length);
  }

  sum(found = this.list.children.length) {
    const bytes = this.files.filter(({ path }) => this.chosen.has(path)).reduce((sum, file) => sum + file.bytes, 0);
    const { size: many } = this.chosen;
    if (many) this.total.textContent = `${number(many)} ${many === 1 ? "file" : "files"}, ${size(bytes)}`;
    else if (!this.folders.length) this.total.textContent = "The studio may not read any folder. Restart it with --folder FOLDER to use files.";
    else this.total.textContent = found > MOST ? `The first ${number(MOST)} of ${number(found)} files. The studio may read ${this.folders.join(", ")}.` : `The studio may read ${this.folders.join(", ")}.`;
  }
}
