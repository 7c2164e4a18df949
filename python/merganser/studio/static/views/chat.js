// Chat: a conversation as ids, and the ids that a model is trained on.
import { button, choice, copy, fill, labeled, make, number, toggle, wellFormed } from "../dom.js";
import { fromHex, shownBytes, visible } from "../glyphs.js";

export const title = "Chat";

// A row is a message or a part of an assistant message: consecutive parts form one message.
const KINDS = { system: "System", user: "User", text: "Assistant", python: "Assistant: Python code", python_output: "Python output" };
const START = [
  ["system", "You are a careful duck."], ["user", "How many tokens are in 12 × 12 quacks?"],
  ["python", "12 * 12"], ["python_output", "144"], ["text", "There are 144 quacks."],
];

export async function mount(element, state, api) {
  const { tokenizers } = state.about;
  const able = tokenizers.find(({ special_tokens: tokens }) => Object.hasOwn(tokens, "<|user_start|>"));
  let tokenizer = state.get("tokenizer") === undefined && able ? able.name : state.tokenizer();
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
  const request = api.latest((body) => api.post("chat/render", body));
  let answer = null;
  let timer = 0;

  function messages() {
    const list = [];
    for (const [kind, text] of rows) {
      if (kind === "system" || kind === "user") list.push({ role: kind, content: text });
      else if (list.at(-1)?.role === "assistant") list.at(-1).content.push({ type: kind, text });
      else list.push({ role: "assistant", content: [{ type: kind, text }] });
    }
    return list;
  }

  async function render() {
    try {
      const got = await request({ tokenizer, messages: messages(), prompt });
      if (!got) return;
      problem.textContent = got.problem ?? "";
      if (got.problem) return;
      answer = got;
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    fill(tokens, ...answer.ids.map((id, n) => {
      const isTrained = answer.mask[n] === 1;
      const bytes = shownBytes(fromHex(answer.tokens[n]));
      const kind = `cell ${isTrained ? "trained" : "untrained"}${answer.special[n] ? " special" : ""}`;
      return make("span", { class: "with-id", title: `id ${id}, ${isTrained ? "trained" : "not trained"}` },
        make("bdi", { class: kind }, bytes), make("small", {}, String(id), make("span", { class: "unseen" }, isTrained ? " trained" : " not trained")));
    }));
    const trained = answer.mask.filter(Boolean).length;
    const shown = [["tokens", number(answer.ids.length)], ["trained", number(trained)], ["not trained", number(answer.ids.length - trained)],
      ["trained share", `${number(100 * trained / answer.ids.length, 1)}%`]];
    fill(figures, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    note.textContent = answer.added.length
      ? `${visible(tokenizer, false)} lacks ${answer.added.length} of the chat special tokens. This view adds them after its last id.` : "";
    tokens.dataset.shown = String(answer.ids.length);
    const now = { tokenizer, prompt: prompt ? "1" : undefined, rows: JSON.stringify(rows) };
    state.keep(now);
    clearTimeout(timer);
    timer = setTimeout(() => state.set(now), 250);
  }

  function lay(focus) {
    fill(editor, ...rows.map((row, n) => {
      const [kind, text] = row;
      const field = make("textarea", { rows: "1", spellcheck: "false", "aria-label": `Message ${n + 1}` });
      field.value = text;
      field.addEventListener("input", () => { row[1] = wellFormed(field.value); render(); });
      const select = choice(Object.entries(KINDS), kind, (to) => { row[0] = to; lay(); render(); });
      select.setAttribute("aria-label", `Role of message ${n + 1}`);
      const drop = button("×", () => { rows.splice(n, 1); lay(); render(); }, { class: "plain", "aria-label": `Remove message ${n + 1}` });
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
      labeled("Tokenizer", choice(tokenizers.map(({ name, vocab_size: size }) => [name, `${visible(name, false)} · ${number(size)}`]), tokenizer,
        (name) => { tokenizer = name; render(); })),
      toggle("Render as a prompt", prompt, (on) => { prompt = on; render(); }),
      make("div", { class: "buttons" }, copied("Copy ids", () => answer.ids), copied("Copy mask", () => answer.mask),
        copied("Copy conversation", () => ({ messages: messages() })))),
    make("div", { class: "columns even" },
      make("section", { class: "stack", "aria-label": "Conversation" }, editor, make("div", {}, button("Add message", add))),
      make("section", { class: "stack side", "aria-label": "Tokens" }, problem, figures,
        make("p", { class: "legend quiet" }, make("span", { class: "cell trained" }, "trained"), " included in the loss · ", make("span", { class: "cell untrained" }, "not trained"), " context only"),
        tokens, note)));
  lay();
  await render();
  return () => clearTimeout(timer);
}
