// Compare: one text by one to four tokenizers: the verdict first, then the tokens, aligned by word or side by side.
import { announce, button, fill, make, toggle } from "../dom.js";
import { Editor } from "../editor.js";
import { Flow } from "../flow.js";
import { visible } from "../glyphs.js";
import { Encoded, tintOf } from "../tokens.js";
import { Verdict } from "../verdict.js";
import { Words } from "../words.js";

export const title = "Compare";

const START = "Tokenizers disagree about 2024-11-16, naïveté, whitespace   and unbelievable_names();\n東京 и Москва, 👋🏽";
const MOST = 4;

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const names = tokenizers.map(({ name }) => name);
  let specials = state.get("specials") === "1";
  let onlyDiffering = state.get("marks") !== "0";
  let layout = state.get("layout") === "side" ? "side" : "words";
  let chosen = (state.get("with") ?? "").split("\n").filter((name) => names.includes(name)).slice(0, MOST);
  const missing = (state.get("with") ?? "").split("\n").filter((name) => name && !names.includes(name));
  if (missing.length) state.say(missing);
  if (!chosen.length) chosen = [state.tokenizer(), ...names.filter((name) => name !== state.tokenizer())].slice(0, 3);
  let encodings = [];
  let words = null;
  let flows = [];
  let timer = 0;

  const editor = new Editor({ rows: 4, id: "compare-text" }, encode);
  const verdict = new Verdict(tokenizers, state.get("prices"), {
    choose: (n, name) => { chosen[n] = name; encode(); },
    drop: (n) => { chosen.splice(n, 1); encode(); update(); },
    price: (prices) => state.keep({ prices }),
  });
  const panes = make("div", { class: "compared" });
  const note = make("p", { class: "pointed quiet", "aria-live": "polite" });
  const problem = make("p", { class: "error", role: "alert" });
  const request = api.latest((body) => api.post("compare/encode", body));

  async function encode() {
    const wanted = { tokenizers: [...chosen], text: editor.text, specials };
    let answer;
    try {
      answer = await request(wanted);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    if (!answer) return;
    encodings = wanted.tokenizers.map((name, n) => {
      const encoded = new Encoded(wanted.text, answer.arrays.slice(4 * n, 4 * n + 3));
      encoded.differs = answer.arrays[4 * n + 3];
      return encoded;
    });
    verdict.judge(wanted.tokenizers, answer.figures);
    draw();
    editor.field.dataset.shown = String(wanted.text.length);
    const now = { with: wanted.tokenizers.join("\n"), specials: specials ? "1" : undefined, marks: onlyDiffering ? undefined : "0",
      layout: layout === "side" ? "side" : undefined, text: wanted.text };
    state.keep(now);
    clearTimeout(timer);
    timer = setTimeout(() => state.set(now), 250);
  }

  // The panes

  const classOf = (all, k, end, tint) => {
    let differs = false;
    for (let n = k; n < end; n += 1) differs ||= all.differs[n] === 1;
    const part = all.text.slice(all.end(k - 1), all.end(end - 1));
    return [part, `t${tint} ${differs ? "differs" : "shared"}${end - k > 1 ? " cut" : ""}`];
  };

  const sideCells = (all, from, to) => {
    const list = [];
    const tints = all.tints(from, to);
    for (let k = from; k < to;) {
      const end = all.segmentEnd(k);
      const [part, kind] = classOf(all, k, end, tints[k - from]);
      list.push({ text: visible(part), from: k, to: end, class: `${kind}${part.endsWith("\n") ? " line-end" : ""}` });
      k = end;
    }
    return list;
  };

  /** The tokens of one tokenizer in a column. */
  function rowOf(all, [from, to]) {
    const row = make("span", { class: "row-of" });
    for (let k = from, last = -1; k < to;) {
      const end = Math.min(all.segmentEnd(k), to);
      last = tintOf(all.text, all.end(k - 1), all.end(end - 1), last);
      const [part, kind] = classOf(all, k, end, last);
      row.append(make("span", { class: `token-cell ${kind}` }, visible(part)));
      k = end;
    }
    return row;
  }

  const wordCells = (all, from, to) => Array.from({ length: to - from }, (_, n) => {
    const word = from + n;
    const text = all.text.slice(all.start(word), all.ends[word]);
    const key = all.all.map((_each, which) => { const [first, last] = all.tokens(word, which); return [...all.all[which].cuts.subarray(first, last)].map((cut) => cut - all.start(word)).join(); }).join(";");
    return { text, key, from: word, to: word + 1, class: `word${all.differs[word] ? " differs" : ""}${text.endsWith("\n") ? " line-end" : ""}`,
      parts: () => [make("span", { class: "column" }, ...all.all.map((encoded, which) => rowOf(encoded, all.tokens(word, which))))] };
  });

  /** Draws the tokens in the chosen layout. */
  function draw() {
    const kind = `${layout} ${chosen.length}`;
    if (panes.dataset.kind !== kind) {
      flows.forEach((flow) => flow.close());
      panes.dataset.kind = kind;
      flows = layout === "words" ? [wordFlow()] : chosen.map((_, n) => sideFlow(n));
      fill(panes, ...flows.map((flow, n) => make("section", { class: "pane" },
        layout === "side" && make("h2", { class: "of" }), flow.element, layout === "words" && n === 0 && note)));
      if (layout === "side") panes.append(note);
    }
    panes.style.setProperty("--rows", String(chosen.length));
    panes.querySelectorAll("h2.of").forEach((head, n) => { head.textContent = visible(chosen[n], false); });
    flows.forEach((flow, n) => { flow.element.setAttribute("aria-label", layout === "words" ? "Tokens by word" : `Tokens of ${visible(chosen[n], false)}`); });
    words = new Words(encodings);
    flows.forEach((flow, n) => {
      flow.unmark();
      flow.show(layout === "words" ? words : encodings[n]);
    });
    describe();
    mark();
  }

  function wordFlow() {
    const flow = new Flow("Tokens by word", wordCells, {
      hover: (from, to) => light(from === undefined ? null : [words.start(from), words.ends[to - 1]]),
      choose: (from) => choose(from),
      move: (from) => choose(from),
    });
    return flow;
  }

  function sideFlow(n) {
    const flow = new Flow(`Tokens of ${visible(chosen[n], false)}`, sideCells, {
      hover: (from, to) => light(from === undefined ? null : [encodings[n].end(from - 1), encodings[n].end(to - 1)], n),
      choose: (from, to) => { flow.current = [from, to]; light([encodings[n].end(from - 1), encodings[n].end(to - 1)], n, true); },
      move: (from, to) => { flow.current = [from, to]; light([encodings[n].end(from - 1), encodings[n].end(to - 1)], n, true); flow.reveal(from); },
    });
    flow.element.addEventListener("scroll", () => follow(flow, n), { passive: true });
    return flow;
  }

  /** Keeps the other panes at the same place in the text. A pane that is scrolled by this does not scroll the others. */
  let leader = null;
  let leading = 0;
  function follow(flow, n) {
    if (leader !== null && leader !== n) return;
    leader = n;
    clearTimeout(leading);
    leading = setTimeout(() => { leader = null; }, 150);
    const top = flow.element.getBoundingClientRect().top;
    const first = [...flow.element.querySelectorAll(".cell")].find((cell) => cell.getBoundingClientRect().bottom > top + 4);
    if (!first) return;
    const offset = encodings[n].end(first.from - 1);
    flows.forEach((other, which) => { if (which !== n) other.alignTop(tokenAt(encodings[which], offset), first.getBoundingClientRect().top - top); });
  }

  /** The first token that ends after an offset in the text. */
  function tokenAt(encoded, offset) {
    let [low, high] = [0, encoded.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (encoded.end(middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, encoded.count - 1);
  }

  /** Highlights the tokens of all tokenizers in a part of the text, and lists their ids. */
  function light(part, source, isShown = false) {
    if (layout === "words") {
      const flow = flows[0];
      flow.light(...(part ? wordsIn(part) : []));
    } else {
      flows.forEach((flow, n) => {
        if (!part) { flow.light(); return; }
        const [from, to] = tokensIn(encodings[n], part);
        flow.light(from, to);
        if (isShown && n !== source) flow.reveal(from);
      });
    }
    describe(part ?? (layout === "words" && flows[0].current ? [words.start(flows[0].current[0]), words.ends[flows[0].current[0]]] : null));
  }

  const tokensIn = (encoded, [start, end]) => [tokenAt(encoded, start), Math.max(tokenAt(encoded, end - 1) + 1, tokenAt(encoded, start) + 1)];
  const wordsIn = ([start, end]) => {
    let word = 0;
    while (word < words.count - 1 && words.ends[word] <= start) word += 1;
    let last = word;
    while (last < words.count - 1 && words.ends[last] < end) last += 1;
    return [word, last + 1];
  };

  function describe(part) {
    if (!part || !encodings[0].count) { note.textContent = chosen.length > 1 ? `${layout === "words" ? `Rows: ${chosen.map((name) => visible(name, false)).join(", ")}. ` : ""}Press n for the next difference, p for the previous.` : "Add a tokenizer to compare with."; return; }
    note.textContent = encodings.map((encoded, n) => {
      const [from, to] = tokensIn(encoded, part);
      return `${visible(chosen[n], false)}: ${[...encoded.ids.subarray(from, to)].join(" ")}`;
    }).join(" · ");
  }

  let current = -1; // the column that was chosen last
  function choose(word) {
    current = word;
    const part = [words.start(word), words.ends[word]];
    if (layout === "words") {
      const [flow] = flows;
      flow.current = [word, word + 1];
      flow.light(word, word + 1, "chosen");
      flow.reveal(word);
    } else flows.forEach((flow, n) => { const [from, to] = tokensIn(encodings[n], part); flow.light(from, to, "chosen"); flow.reveal(from); });
    describe(part);
  }

  function jump(step) {
    if (!words?.count) return;
    const from = current < 0 && step < 0 ? words.count : Math.min(current, words.count - 1);
    const next = words.nextDifference(from, step);
    if (next < 0) {
      announce("No more differences");
      note.textContent = step > 0 ? "No more differences after this one." : "No more differences before this one.";
      return;
    }
    choose(next);
    announce(note.textContent);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, input, select, dialog")) return;
    if (event.key === "n") jump(1);
    else if (event.key === "p") jump(-1);
  }

  const mark = () => { panes.classList.toggle("marking", onlyDiffering && chosen.length > 1); };
  const another = button("Compare with another", () => { chosen.push(names.find((name) => !chosen.includes(name)) ?? names[0]); encode(); update(); });
  const update = () => { another.disabled = chosen.length >= MOST || chosen.length >= names.length; };
  editor.set(state.get("text") ?? START);
  fill(element,
    make("div", { class: "row bar" }, another, state.adding(),
      toggle("Special tokens", specials, (on) => { specials = on; encode(); }),
      toggle("Highlight only differences", onlyDiffering, (on) => { onlyDiffering = on; mark(); encode(); }),
      toggle("Side by side", layout === "side", (on) => { layout = on ? "side" : "words"; encode(); }),
      make("div", { class: "buttons" }, button("‹ Difference", () => jump(-1), { title: "Previous difference (p)", "aria-keyshortcuts": "p" }),
        button("Difference ›", () => jump(1), { title: "Next difference (n)", "aria-keyshortcuts": "n" }))),
    make("div", { class: "stack" }, make("label", { class: "unseen", for: "compare-text" }, "Text"), editor.element, problem, verdict.sentence, verdict.element, panes));
  addEventListener("keydown", keys);
  update();
  await encode();
  return () => { clearTimeout(timer); clearTimeout(leading); removeEventListener("keydown", keys); flows.forEach((flow) => flow.close()); };
}
