// The verdict of Compare: how many tokens each tokenizer needs, as a sentence, large numbers and bars, and what they cost.
import { button, choice, fill, make, number } from "./dom.js";
import { visible } from "./glyphs.js";

export class Verdict {
  /** prices: dollars per million tokens, by tokenizer. on: {choose(n, name), drop(n), price(prices)}. */
  constructor(tokenizers, prices, on) {
    this.tokenizers = tokenizers;
    this.prices = { ...prices };
    this.on = on;
    this.sentence = make("p", { class: "sentence", role: "status" });
    this.element = make("ol", { class: "verdicts", "aria-label": "Tokens by tokenizer" });
  }

  /** Shows the figures of tokenizers. Rows are updated in place, so that typing a price is not interrupted. */
  judge(by, figures) {
    const counts = figures.map(({ tokens }) => tokens);
    const [least, most] = [Math.min(...counts), Math.max(...counts, 1)];
    const more = (tokens) => (tokens === least ? "fewest" : `+${number(100 * (tokens / Math.max(least, 1) - 1), 0)}%`);
    const order = by.map((name, n) => [name, counts[n]]).sort((a, b) => a[1] - b[1]);
    this.sentence.textContent = order.map(([name, tokens]) =>
      `${visible(name, false)} ${number(tokens)}${tokens === least ? "" : `, ${more(tokens)}`}`).join(" · ");
    if (this.element.dataset.of !== by.join("\n")) {
      this.element.dataset.of = by.join("\n");
      fill(this.element, ...by.map((name, n) => this.row(name, n, by.length)));
    }
    figures.forEach(({ tokens, bytes, differing }, n) => {
      const isAlone = by.length === 1;
      this.element.children[n].update(tokens, tokens / most, isAlone ? "" : more(tokens),
        `${number(tokens ? bytes / tokens : 0, 2)} bytes per token${isAlone ? "" : ` · ${number(differing)} differ`}`);
    });
  }

  row(name, n, count) {
    const select = choice(this.tokenizers.map(({ name: each, vocab_size: size }) => [each, `${visible(each, false)} · ${number(size)}`]), name,
      (to) => this.on.choose(n, to));
    select.setAttribute("aria-label", `Tokenizer ${n + 1}`);
    const drop = count > 1 && button("×", () => this.on.drop(n), { class: "plain", "aria-label": `Remove tokenizer ${n + 1}` });
    const [tokens, more, bar] = [make("strong", { class: "tokens" }), make("span", { class: "more" }), make("span", { class: "fill" })];
    const [detail, cost] = [make("span", { class: "quiet" }), make("output", { class: "cost" })];
    let total = 0;
    const spend = () => {
      const each = Number(price.value);
      cost.textContent = price.value === "" || !Number.isFinite(each) ? "" : `$${(total * each / 1e6).toPrecision(3)}`;
    };
    const price = make("input", { type: "number", min: "0", step: "any", placeholder: "price", "aria-label": `Price of a million tokens of ${visible(name, false)}`,
      oninput: () => {
        this.prices = { ...this.prices, [name]: price.value };
        this.on.price(this.prices);
        spend();
      } });
    price.value = this.prices[name] ?? "";
    const row = make("li", {}, make("div", { class: "which" }, select, drop), make("span", { class: "bar-track" }, bar), tokens, more, detail,
      make("label", { class: "price quiet" }, "$", price, "per million", cost));
    row.update = (figure, share, difference, facts) => {
      total = figure;
      tokens.textContent = number(figure);
      more.textContent = difference;
      bar.style.width = `${100 * share}%`;
      detail.textContent = facts;
      spend();
    };
    return row;
  }
}
