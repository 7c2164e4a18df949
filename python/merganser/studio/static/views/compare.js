// Compare: one text by two to four tokenizers, side by side, with the differing tokens marked.
import { button, choice, fill, make, number, table, toggle } from "../dom.js";
import { Editor } from "../editor.js";
import { Flow } from "../flow.js";
import { visible } from "../glyphs.js";
import { Encoded } from "../tokens.js";

export const title = "Compare";

const START = "Tokenizers disagree about 2024-11-16, naïveté, whitespace   and unbelievable_names();\n東京 и Москва, 👋🏽";
const LONGEST_LINK = 4000;
const MOST = 4;

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const names = tokenizers.map(({ name }) => name);
  let specials = state.get("specials") === "1";
  let onlyDiffering = state.get("marks") !== "0";
  let chosen = (state.get("with") ?? "").split("\n").filter((name) => names.includes(name)).slice(0, MOST);
  if (!chosen.length) chosen = names.slice(0, Math.max(2, Math.min(names.length, 3)));
  if (chosen.length < 2) chosen.push(chosen[0]);
  let flows = [];
  let timer = 0;

  const editor = new Editor({ rows: 4, id: "compare-text" }, encode);
  const columns = make("div", { class: "compared" });
  const figures = make("div");
  const problem = make("p", { class: "error", role: "alert" });
  const request = api.latest((body) => api.post("compare/encode", body));

  const cells = (all, from, to) => {
    const list = [];
    for (let k = from; k < to;) {
      const end = all.segmentEnd(k);
      const part = all.text.slice(all.end(k - 1), all.end(end - 1));
      let differs = false;
      for (let n = k; n < end; n += 1) differs ||= all.differs[n] === 1;
      const kinds = [differs ? "differs" : "shared"];
      if (end - k > 1) kinds.push("cut");
      if (part.endsWith("\n")) kinds.push("line-end");
      list.push({ text: visible(part), from: k, to: end, class: kinds.join(" ") });
      k = end;
    }
    return list;
  };

  /** Highlights the tokens in all columns that cover the same bytes. */
  function light(source, from, to) {
    for (const flow of flows) {
      if (from === undefined) { flow.light(); continue; }
      const [start, end] = [source.encoded.byteStart(from), source.encoded.ends[to - 1]];
      const first = flow === source ? from : flow.encoded.at(start);
      const last = flow === source ? to : flow.encoded.at(end - 1) + 1;
      flow.light(first, last);
      if (flow !== source) flow.reveal(first);
      if (flow === source || !flow.note) flow.current = [from, to];
    }
    for (const flow of flows) note(flow);
  }

  function note(flow) {
    if (!flow.marked) { flow.note.textContent = ""; return; }
    const [from, to] = flow.marked;
    const ids = [...flow.encoded.ids.subarray(from, Math.min(to, from + 12))].join(", ");
    flow.note.textContent = `${number(to - from)} token${to - from === 1 ? "" : "s"}: ${ids}${to - from > 12 ? ", …" : ""}`;
  }

  function lay() {
    flows.forEach((flow) => flow.close());
    flows = chosen.map((name) => {
      const flow = new Flow(`Tokens of ${visible(name, false)}`, cells, {
        hover: (from, to) => light(flow, from, to),
        choose: (from, to) => light(flow, from, to),
        move: (from, to) => { light(flow, from, to); flow.current = [from, to]; flow.reveal(from); },
      });
      flow.note = make("p", { class: "quiet note", "aria-live": "polite" });
      return flow;
    });
    fill(columns, ...chosen.map((name, n) => {
      const select = choice(tokenizers.map(({ name: each, vocab_size: size }) => [each, `${visible(each, false)} · ${number(size)}`]), name,
        (to) => { chosen[n] = to; lay(); encode(); });
      select.setAttribute("aria-label", `Tokenizer ${n + 1}`);
      const drop = chosen.length > 2 && button("×", () => { chosen.splice(n, 1); lay(); encode(); }, { class: "plain", "aria-label": `Remove tokenizer ${n + 1}` });
      return make("section", { class: "pane", "aria-label": `Tokenizer ${n + 1}` }, make("div", { class: "row end" }, select, drop), flows[n].element, flows[n].note);
    }));
    add.disabled = chosen.length >= MOST;
  }

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
    if (!answer || flows.length !== wanted.tokenizers.length) return;
    flows.forEach((flow, n) => {
      const encoded = new Encoded(wanted.text, answer.arrays.slice(4 * n, 4 * n + 3));
      encoded.differs = answer.arrays[4 * n + 3];
      flow.marked = null;
      flow.current = null;
      flow.show(encoded);
      flow.note.textContent = "";
    });
    const least = Math.min(...answer.figures.map(({ tokens }) => tokens));
    fill(figures, table(
      [["tokenizer", false], ["tokens", true], ["vs. fewest", true], ["bytes per token", true], ["compression", true], ["differing tokens", true], ["unique ids", true]],
      answer.figures.map((own, n) => [visible(wanted.tokenizers[n], false), number(own.tokens),
        own.tokens === least ? "fewest" : `+${number(100 * (own.tokens / least - 1), 1)}%`,
        number(own.tokens ? own.bytes / own.tokens : 0, 2), `${number(own.tokens ? own.bytes / own.tokens / own.id_bytes : 0, 2)}×`,
        number(own.differing), number(own.different)]),
      "Token counts"));
    editor.field.dataset.shown = String(wanted.text.length);
    clearTimeout(timer);
    timer = setTimeout(() => state.set({ with: chosen.join("\n"), specials: specials ? "1" : undefined, marks: onlyDiffering ? undefined : "0",
      text: editor.text.length <= LONGEST_LINK ? editor.text : undefined }), 250);
  }

  const mark = () => { columns.classList.toggle("marking", onlyDiffering); };
  const add = button("Add tokenizer", () => { chosen.push(names.find((name) => !chosen.includes(name)) ?? names[0]); lay(); encode(); });
  editor.set(state.get("text") ?? START);
  fill(element,
    make("div", { class: "row bar" }, add,
      toggle("Special tokens", specials, (on) => { specials = on; encode(); }),
      toggle("Highlight only differences", onlyDiffering, (on) => { onlyDiffering = on; mark(); encode(); })),
    make("div", { class: "stack" }, make("label", { class: "unseen", for: "compare-text" }, "Text"), editor.element, problem, columns, figures));
  lay();
  mark();
  await encode();
  return () => { clearTimeout(timer); flows.forEach((flow) => flow.close()); };
}
