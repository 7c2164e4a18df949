// A field for a text of any length. Browsers need 70 ms for a key in a megabyte, wherever it is typed: so the field
// holds only a part of a long text, and a row below says which, and leads to the others.
import { button, fill, make, number, wellFormed } from "./dom.js";

const PART = 40000; // characters: of longer texts the field gets this many
const MOST = 2 * PART; // and may grow to that many before it gets them anew
const LONG_PASTE = 4000; // the browser's own way to paste takes minutes for a megabyte

export class Editor {
  /** onedit is called when the text was edited, not when it was set; properties are those of the field. */
  constructor(properties, onedit) {
    this.field = make("textarea", { spellcheck: "false", autocomplete: "off", autocapitalize: "off", ...properties });
    this.row = make("div", { class: "row part" });
    this.element = make("div", { class: "editor" }, this.field, this.row);
    this.onedit = onedit;
    this.field.addEventListener("input", () => this.edited());
    this.field.addEventListener("paste", (event) => this.paste(event));
    this.field.addEventListener("keydown", (event) => this.key(event));
    for (const kind of ["copy", "cut"]) this.field.addEventListener(kind, (event) => this.copy(event));
    this.field.addEventListener("beforeinput", () => { if (this.hasAll) this.widen(); });
    this.earlier = button("‹ Earlier", () => this.show(this.before.length - PART / 2));
    this.later = button("Later ›", () => this.show(this.before.length + this.field.value.length + PART / 2));
    this.place = make("input", { type: "range", min: "0", step: String(PART / 2), "aria-label": "Place in the text", oninput: () => this.show(Number(this.place.value)) });
    this.says = make("span", { class: "quiet" });
    this.set("");
  }

  set(text) {
    this.text = text; // fields make \r\n to \n, so the text itself is kept until it is edited
    [this.before, this.after] = ["", text.replace(/\r\n?/g, "\n")];
    this.field.value = "";
    this.show(0);
  }

  /** Shows the part around a place of the text, with the caret there. */
  show(at) {
    const whole = this.before + wellFormed(this.field.value) + this.after;
    const place = Math.min(Math.max(at, 0), whole.length);
    let [start, end] = [0, whole.length];
    if (whole.length > MOST) {
      const first = Math.min(Math.max(place - PART / 2, 0), whole.length - PART);
      [start, end] = [lineAt(whole, first), lineAt(whole, first + PART)];
    }
    [this.before, this.field.value, this.after] = [whole.slice(0, start), whole.slice(start, end), whole.slice(end)];
    this.field.setSelectionRange(place - start, place - start);
    if (this.isPart) this.reveal((place - start) / (end - start));
    this.all = false;
    this.describe(start, end, whole.length);
  }

  /** Scrolls to the caret, which is at this share of the part. */
  reveal(share) {
    const { field } = this;
    if (document.activeElement === field) { // a field that gets the focus shows its caret
      field.blur();
      field.focus();
    } else field.scrollTop = share * field.scrollHeight - field.clientHeight / 2;
  }

  describe(start, end, length) {
    if (end - start === length) fill(this.row);
    else if (!this.row.children.length) fill(this.row, this.earlier, this.place, this.later, this.says);
    this.earlier.disabled = start === 0;
    this.later.disabled = end === length;
    if (document.activeElement !== this.place) [this.place.max, this.place.value] = [length, Math.round((start + end) / 2)];
    const percent = (at) => `${number((100 * at) / length, 1)} %`;
    this.says.textContent = `The field has the text from ${percent(start)} to ${percent(end)}`;
    this.place.setAttribute("aria-valuetext", this.says.textContent);
  }

  get isPart() { return this.before !== "" || this.after !== ""; }

  /** Whether all of a text is selected of which the field has a part. */
  get hasAll() {
    const { selectionStart, selectionEnd, value } = this.field;
    return this.all && this.isPart && selectionStart === 0 && selectionEnd === value.length;
  }

  /** From now on the part is all there is: what replaces it replaces the text. */
  widen() { [this.before, this.after] = ["", ""]; }

  edited() {
    const { value, selectionEnd } = this.field;
    this.text = this.before + wellFormed(value) + this.after;
    this.onedit();
    if (value.length > MOST || (this.isPart && value.length < PART / 4)) this.show(this.before.length + selectionEnd);
    else if (this.isPart || this.row.children.length) this.describe(this.before.length, this.before.length + value.length, this.text.length);
  }

  paste(event) {
    const pasted = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n");
    if (pasted.length < LONG_PASTE) return;
    event.preventDefault();
    if (this.hasAll) this.widen();
    const { selectionStart, selectionEnd, value } = this.field;
    this.text = wellFormed(this.before + value.slice(0, selectionStart) + pasted + value.slice(selectionEnd) + this.after);
    this.onedit(); // whoever works with it begins while the text is laid out
    const caret = this.before.length + selectionStart + pasted.length;
    [this.before, this.after] = ["", this.text];
    this.field.value = "";
    this.show(caret);
  }

  copy(event) {
    if (!this.hasAll) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", this.text);
    if (event.type === "cut") {
      this.set("");
      this.onedit();
    }
  }

  /** At the ends of a part the caret goes on; select all, first and last mean the text. */
  key(event) {
    if (!this.isPart) return;
    const { selectionStart, selectionEnd, value } = this.field;
    const control = event.ctrlKey || event.metaKey;
    const at = selectionStart === selectionEnd ? selectionStart : -1;
    const end = this.before.length + value.length;
    let to;
    if (control && event.key === "a") this.all = true;
    else if (event.shiftKey || event.altKey) return;
    else if (control && event.key === "Home") to = 0;
    else if (control && event.key === "End") to = end + this.after.length;
    else if (at === 0 && this.before && ["ArrowUp", "ArrowLeft", "PageUp"].includes(event.key)) to = this.before.length;
    else if (at === value.length && this.after && ["ArrowDown", "ArrowRight", "PageDown"].includes(event.key)) to = end;
    if (to === undefined) return;
    event.preventDefault();
    this.show(to);
  }
}

/** A place near this one where a text can be cut: behind a line if there is one, and never inside a character. */
function lineAt(text, place) {
  if (place <= 0) return 0;
  if (place >= text.length) return text.length;
  const line = text.lastIndexOf("\n", place - 1) + 1;
  if (place - line < PART / 4) return line;
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code < 0xe000 ? place - 1 : place;
}
