// Chat: a conversation, its ids, and which of them a model is trained on.
import { button, choice, copy, fill, labelled, make, number, toggle, wellFormed } from "../dom.js";
import { fromHex, shownBytes, visible } from "../glyphs.js";

export const title = "Chat";

// A row is a message, or a part of an answer: parts that follow each other are one answer.
const KINDS = { system: "System", user: "User", text: "Assistant", python: "Assistant runs Python", python_output: "Python answers" };
const START = [
  ["system", "You are a careful duck."], ["user", "How many tokens are in 12 × 12 quacks?"],
  ["python", "12 * 12"], ["python_output", "144"], ["text", "There are 144 quacks."],
];

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const names = tokenizers.map(({ name }) => name);
  const able = tokenizers.find(({ special_tokens: tokens }) => "<|user_start|>" in tokens);
  let tokenizer = names.includes(state.get("tokenizer")) ? state.get("tokenizer") : (able ?? tokenizers[0]).name;
  let prompt = state.get("prompt") === "1";
  let rows = START.map((row) => [...row]);
  try {
    const given = JSON.parse(state.get("rows") ?? "null");
    if (Array.isArray(given) && given.every(([kind, text]) => kind in KINDS && typeof text === "string")) rows = given;
  } catch { /* a broken link shows the example */ }

  const editor = make("ol", { class: "rows" });
  const tokens = make("div", { class: "flow mask", tabindex: "0", role: "group", "aria-label": "Tokens, trained or not trained" });
  const figures = make("dl", { class: "figures" });
  const note = make("p", { class: "quiet" });
  const problem = make("p", { class: "error", role: "alert" });
  const ask = api.latest((asked) => api.post("chat/render", asked));
  let answer = null;
  let timer = 0;

  function messages() {
    const made = [];
    for (const [kind, text] of rows) {
      if (kind === "system" || kind === "user") made.push({ role: kind, content: text });
      else if (made.at(-1)?.role === "assistant") made.at(-1).content.push({ type: kind, text });
      else made.push({ role: "assistant", content: [{ type: kind, text }] });
    }
    return made;
  }

  async function render() {
    try {
      const got = await ask({ tokenizer, messages: messages(), prompt });
      if (!got) return;
      problem.textContent = got.problem ?? "";
      if (got.problem) return;
      answer = got;
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    fill(tokens, ...answer.ids.map((id, n) => {
      const learnt = answer.mask[n] === 1;
      const bytes = shownBytes(fromHex(answer.tokens[n]));
      const kind = `cell ${learnt ? "learnt" : "given"}${answer.special[n] ? " special" : ""}`;
      return make("span", { class: "with-id", title: `id ${id}, ${learnt ? "trained" : "not trained"}` },
        make("bdi", { class: kind }, bytes), make("small", {}, String(id), make("span", { class: "unseen" }, learnt ? " trained" : " not trained")));
    }));
    const learnt = answer.mask.filter(Boolean).length;
    const shown = [["tokens", number(answer.ids.length)], ["trained", number(learnt)], ["not trained", number(answer.ids.length - learnt)],
      ["trained share", `${number(100 * learnt / answer.ids.length, 1)} %`]];
    fill(figures, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    note.textContent = answer.added.length
      ? `${visible(tokenizer, false)} lacks ${answer.added.length} special tokens of conversations; for this view they have the ids behind its last.` : "";
    tokens.dataset.shown = String(answer.ids.length);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const given = JSON.stringify(rows);
      state.set({ tokenizer, prompt: prompt ? "1" : undefined, rows: given.length < 4000 ? given : undefined });
    }, 250);
  }

  function lay(focus) {
    fill(editor, ...rows.map((row, n) => {
      const [kind, text] = row;
      const field = make("textarea", { rows: "1", spellcheck: "false", "aria-label": `Text ${n + 1}` });
      field.value = text;
      field.addEventListener("input", () => { row[1] = wellFormed(field.value); render(); });
      const select = choice(Object.entries(KINDS), kind, (to) => { row[0] = to; lay(); render(); });
      select.setAttribute("aria-label", `Who says text ${n + 1}`);
      const drop = button("×", () => { rows.splice(n, 1); lay(); render(); }, { class: "plain", "aria-label": `Remove text ${n + 1}` });
      return make("li", { class: `turn ${kind}` }, make("div", { class: "row end" }, select, drop), field);
    }));
    if (focus) editor.lastElementChild.querySelector("textarea").focus();
  }

  function add() {
    const last = rows.at(-1)?.[0];
    rows.push([last === "user" || last === "python_output" ? "text" : "user", ""]);
    lay(true);
    render();
  }

  const copied = (name, what) => { const control = button(name, () => copy(JSON.stringify(what()), control)); return control; };
  fill(element,
    make("div", { class: "row bar" },
      labelled("Tokenizer", choice(tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), tokenizer,
        (name) => { tokenizer = name; render(); })),
      toggle("As a prompt", prompt, (on) => { prompt = on; render(); }),
      make("div", { class: "buttons" }, copied("Copy ids", () => answer.ids), copied("Copy mask", () => answer.mask),
        copied("Copy conversation", () => ({ messages: messages() })))),
    make("div", { class: "columns even" },
      make("section", { class: "stack", "aria-label": "Conversation" }, editor, make("div", {}, button("Add a message", add))),
      make("section", { class: "stack side", "aria-label": "Tokens" }, problem, figures,
        make("p", { class: "legend quiet" }, make("span", { class: "cell learnt" }, "trained"), " the model learns to write it · ", make("span", { class: "cell given" }, "not trained"), " it only reads it"),
        tokens, note)));
  lay();
  await render();
  return () => clearTimeout(timer);
}
