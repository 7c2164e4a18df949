// A text field for texts of any length. Browsers take 70 ms per key in a megabyte of text, so the field holds only a
// part of a long text; a row below shows which part, and navigates to the others.
import { button, fill, make, number, wellFormed } from "./dom.js";

const PART = 40000; // characters of a long text that the field holds
const MOST = 2 * PART; // it may grow to this size before it is reduced to PART again
const LONG_PASTE = 4000; // the browser's own paste takes minutes for a megabyte

export class Editor {
  /** `onedit` is called after an edit by the user, not after `set`; `properties` apply to the field. */
  constructor(properties, onedit) {
    this.field = make("textarea", { spellcheck: "false", autocomplete: "off", autocapitalize: "off", ...properties });
    this.row = make("div", { class: "row part" });
    this.element = make("div", { class: "editor" }, this.field, this.row);
    this.onedit = onedit;
    this.field.addEventListener("input", () => this.edited());
    this.field.addEventListener("paste", (event) => this.paste(event));
    this.field.addEventListener("keydown", (event) => this.key(event));
    for (const kind of ["copy", "cut"]) this.field.addEventListener(kind, (event) => this.copy(event));
    this.field.addEventListener("beforeinput", () => { if (this.isAllSelected) this.dropRest(); });
    this.earlier = button("‹ Earlier", () => this.show(this.before.length - PART / 2));
    this.later = button("Later ›", () => this.show(this.before.length + this.field.value.length + PART / 2));
    this.slider = make("input", { type: "range", min: "0", step: String(PART / 2), "aria-label": "Position in the text", oninput: () => this.show(Number(this.slider.value)) });
    this.status = make("span", { class: "quiet" });
    this.set("");
  }

  set(text) {
    this.text = text; // fields change \r\n to \n, so the original is kept until it is edited
    [this.before, this.after] = ["", text.replace(/\r\n?/g, "\n")];
    this.field.value = "";
    this.show(0);
  }

  /** Shows the part around an offset, with the caret there. */
  show(at) {
    const whole = this.before + wellFormed(this.field.value) + this.after;
    const caret = Math.min(Math.max(at, 0), whole.length);
    let [start, end] = [0, whole.length];
    if (whole.length > MOST) {
      const first = Math.min(Math.max(caret - PART / 2, 0), whole.length - PART);
      [start, end] = [breakNear(whole, first), breakNear(whole, first + PART)];
    }
    [this.before, this.field.value, this.after] = [whole.slice(0, start), whole.slice(start, end), whole.slice(end)];
    this.field.setSelectionRange(caret - start, caret - start);
    if (this.isPart) this.reveal((caret - start) / (end - start));
    this.all = false;
    this.describe(start, end, whole.length);
  }

  /** Scrolls to the caret, which is at this fraction of the part. */
  reveal(share) {
    const { field } = this;
    if (document.activeElement === field) { // focusing a field scrolls to its caret
      field.blur();
      field.focus();
    } else field.scrollTop = share * field.scrollHeight - field.clientHeight / 2;
  }

  describe(start, end, length) {
    if (end - start === length) fill(this.row);
    else if (!this.row.children.length) fill(this.row, this.earlier, this.slider, this.later, this.status);
    this.earlier.disabled = start === 0;
    this.later.disabled = end === length;
    if (document.activeElement !== this.slider) [this.slider.max, this.slider.value] = [length, Math.round((start + end) / 2)];
    const percent = (at) => `${number((100 * at) / length, 1)}%`;
    this.status.textContent = `Showing ${percent(start)} to ${percent(end)} of the text`;
    this.slider.setAttribute("aria-valuetext", this.status.textContent);
  }

  get isPart() { return this.before !== "" || this.after !== ""; }

  /** Whether the whole text is selected while the field holds only a part of it. */
  get isAllSelected() {
    const { selectionStart, selectionEnd, value } = this.field;
    return this.all && this.isPart && selectionStart === 0 && selectionEnd === value.length;
  }

  /** Drops the text outside the part, so that replacing the part replaces the whole text. */
  dropRest() { [this.before, this.after] = ["", ""]; }

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
    if (this.isAllSelected) this.dropRest();
    const { selectionStart, selectionEnd, value } = this.field;
    this.text = wellFormed(this.before + value.slice(0, selectionStart) + pasted + value.slice(selectionEnd) + this.after);
    this.onedit(); // encoding starts while the browser lays out the text
    const caret = this.before.length + selectionStart + pasted.length;
    [this.before, this.after] = ["", this.text];
    this.field.value = "";
    this.show(caret);
  }

  copy(event) {
    if (!this.isAllSelected) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", this.text);
    if (event.type === "cut") {
      this.set("");
      this.onedit();
    }
  }

  /** Moves the caret past the ends of the part; Ctrl+A, Ctrl+Home and Ctrl+End apply to the whole text. */
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

/** An offset near this one where a text can be cut: after a line break if there is one, and never inside a character. */
function breakNear(text, offset) {
  if (offset <= 0) return 0;
  if (offset >= text.length) return text.length;
  const line = text.lastIndexOf("\n", offset - 1) + 1;
  if (offset - line < PART / 4) return line;
  const code = text.charCodeAt(offset);
  return code >= 0xdc00 && code < 0xe000 ? offset - 1 : offset;
}
