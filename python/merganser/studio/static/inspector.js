// The inspector: one token in three tabs, Token, Merges and Neighbors. It is sticky and of a fixed height, so that nothing
// moves when another token is chosen; on a phone it is a sheet at the bottom.
import { announce, button, fill, make, number, uniqueId } from "./dom.js";
import { fromHex, shownBytes, visible } from "./glyphs.js";
import { factList, stepper, stepsOf, tree } from "./merges.js";

const TABS = { token: "Token", merges: "Merges", neighbors: "Neighbors" };

export class Inspector {
  /**
   * hint: what to do while no token is chosen. on: {tab(name), open(tokenizer, bytes)}, both optional: the chosen tab,
   * and the wish to see a token in the playground.
   */
  constructor(api, hint, on = {}, tab = "token") {
    this.api = api;
    this.hint = hint;
    this.on = on;
    this.requests = 0;
    this.name = make("div", { class: "token-name" });
    this.where = make("p", { class: "quiet where" });
    this.parts = make("div", { class: "parts" });
    this.body = make("div", { class: "body", id: uniqueId("inspector"), role: "tabpanel", tabindex: "0" });
    this.tabs = Object.entries(TABS).map(([key, text]) => button(text, () => this.turn(key), {
      role: "tab", id: uniqueId("tab"), "aria-controls": this.body.id, data: { tab: key }, onkeydown: (event) => this.key(event) }));
    this.close = button("×", () => this.fold(), { class: "plain close", "aria-label": "Close the inspector" });
    this.element = make("section", { class: "inspector card", "aria-label": "Inspector" },
      make("div", { class: "head" }, this.name, this.where, this.close), this.parts,
      make("div", { class: "tabs", role: "tablist", "aria-label": "About the token" }, ...this.tabs), this.body);
    this.tab = Object.hasOwn(TABS, tab) ? tab : "token";
    this.clear();
  }

  /** Shows no token. */
  clear() {
    this.requests += 1;
    this.shown = null;
    this.element.classList.remove("open");
    fill(this.name);
    fill(this.where);
    fill(this.parts);
    this.mark();
    fill(this.body, make("p", { class: "quiet" }, this.hint));
  }

  /** On a phone, scrolls the page until the sheet no longer covers an element. */
  uncover(element) {
    if (!element || getComputedStyle(this.element).position !== "fixed") return;
    const below = element.getBoundingClientRect().bottom + 12 - this.element.getBoundingClientRect().top;
    if (below <= 0) return;
    document.body.style.paddingBottom = `${this.element.offsetHeight}px`; // room to scroll at the end of the page
    scrollBy(0, below);
  }

  /** On a phone, hides the sheet. */
  fold() { this.element.classList.remove("open"); }

  /**
   * Shows tokens that share a character, usually one. what: {tokenizer, ids, where, steps(), rows}: `where` is a
   * description of the position, `steps` a request for the merges of the text around, `rows` facts about the position.
   */
  show(what) {
    this.shown = what;
    this.id = what.ids[0];
    this.trail = [];
    this.element.classList.add("open");
    fill(this.where, what.where ?? "");
    fill(this.parts, ...(what.ids.length > 1 ? [make("span", { class: "quiet" }, `${what.ids.length} tokens share this character:`),
      ...what.ids.map((id, n) => button(String(id), () => { this.id = id; this.trail = []; this.draw(); this.markPart(n); }, { class: "token", "aria-pressed": String(n === 0) }))] : []));
    return this.draw();
  }

  markPart(nth) {
    [...this.parts.querySelectorAll("button")].forEach((each, n) => each.setAttribute("aria-pressed", String(n === nth)));
  }

  mark() {
    for (const each of this.tabs) {
      const isChosen = each.dataset.tab === this.tab;
      each.setAttribute("aria-selected", String(isChosen));
      each.tabIndex = isChosen ? 0 : -1;
      if (isChosen) this.body.setAttribute("aria-labelledby", each.id);
    }
  }

  turn(tab) {
    this.tab = tab;
    this.mark();
    this.on.tab?.(tab);
    if (this.shown) this.draw();
  }

  key(event) {
    const keys = Object.keys(TABS);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.turn(keys[(keys.indexOf(this.tab) + step + keys.length) % keys.length]);
    this.tabs[keys.indexOf(this.tab)].focus();
  }

  /** Shows another token: a node of the tree, or a neighbor. */
  visit(id) {
    this.trail.push(this.id);
    this.id = id;
    this.draw();
  }

  async draw() {
    const mine = ++this.requests;
    const { tokenizer } = this.shown;
    const { id, tab } = this;
    this.mark();
    try {
      const { nodes } = await this.api.get("merges/tree", { tokenizer, id });
      const content = await this[tab](nodes, this.shown, id);
      if (mine !== this.requests) return;
      const top = nodes[nodes.length - 1];
      const shown = shownBytes(fromHex(top.bytes));
      fill(this.name, make("bdi", {}, shown));
      fill(this.body, this.trail.length > 0 && button("‹ Back", () => { this.id = this.trail.pop(); this.draw(); }, { class: "plain back" }), ...content);
      this.body.dataset.of = String(id);
      announce(`${shown}, id ${id}`);
    } catch (error) {
      if (mine === this.requests) fill(this.body, make("p", { class: "error", role: "alert" }, error.message));
    }
  }

  token(nodes, { rows = [], tokenizer }, id) {
    const top = nodes[nodes.length - 1];
    return [factList(top, id === this.shown.ids[0] && this.shown.ids.length === 1 ? rows : []), tree(nodes, (other) => this.visit(other)),
      this.on.open && make("div", { class: "buttons" }, button("Open in playground", () => this.on.open(tokenizer, fromHex(top.bytes))))];
  }

  async merges(nodes, { steps, ids }, id) {
    return [stepper(steps && ids.includes(id) ? await steps() : stepsOf(nodes))];
  }

  async neighbors(nodes, { tokenizer }, id) {
    const [{ neighbors }, uses] = await Promise.all([this.api.get("vocabulary/neighbors", { tokenizer, id }), this.api.get("merges/uses", { tokenizer, id })]);
    const list = (tokens, note) => make("ol", { class: "near" }, ...tokens.map((near) => make("li", {},
      button(shownBytes(fromHex(near.bytes)), () => this.visit(near.id), { class: "token" }), " ", make("span", { class: "quiet" }, note(near)))));
    return [
      make("h3", {}, "Similar tokens"),
      neighbors?.length ? list(neighbors, (near) => number(near.similarity, 3))
        : make("p", { class: "quiet" }, `No embeddings of ${visible(tokenizer, false)} are loaded. Train them with `, make("code", {}, "merganser embed"),
          " and start the studio with ", make("code", {}, "--embeddings"), "."),
      make("h3", {}, "Tokens that merge it further"),
      uses.total ? list(uses.tokens, (use) => `#${number(use.rank)}`) : make("p", { class: "quiet" }, "None: no merge uses this token."),
      uses.total > uses.tokens.length && make("p", { class: "quiet" }, `The first ${number(uses.tokens.length)} of ${number(uses.total)}.`),
    ];
  }
}

/** Facts about the position of a token in a text, as rows of `factList`. */
export const position = (encoded, k) => [["in the text",
  `characters ${number(encoded.start(k))}–${number(encoded.end(k))}, bytes ${number(encoded.byteStart(k))}–${number(encoded.ends[k])}`]];
