// Elements, built in one place. Text is only ever text: there is no way here to make markup of it.

/** An element: make("p", {class: "quiet", onclick: f, ariaLabel: "x"}, "text", child, …). */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Puts these in the place of what an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

let last = 0;
/** An id that no other element has. */
export const fresh = (stem) => `${stem}-${++last}`;

/** A control with its label before it. */
export function labelled(text, control) {
  control.id ||= fresh("control");
  return make("span", { class: "field" }, make("label", { for: control.id }, text), control);
}

export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", onclick, ...properties }, text);
}

/** A choice among [value, text] pairs. */
export function choice(options, value, onchange) {
  const select = make("select", { onchange: () => onchange(select.value) });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = value;
  return select;
}

export function toggle(text, checked, onchange) {
  const box = make("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.checked = checked;
  return make("label", { class: "toggle" }, box, text);
}

/** A table of strings and elements; the columns are [title, is a number] pairs. */
export function table(columns, rows, caption) {
  const head = make("tr", {}, ...columns.map(([title, number]) =>
    make("th", { scope: "col", class: number ? "number" : "" }, title)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, place) =>
    make("td", { class: columns[place][1] ? "number" : "" }, cell instanceof Node ? cell : make("bdi", {}, String(cell))))));
  const whole = make("table", {}, caption && make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" }, whole);
}

const formats = new Map();
/** A number for people: 12,345 or 3.14. */
export function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(value);
}

/** A text without halves of characters, which no encoding has. */
export const wellFormed = (text) => (text.toWellFormed ? text.toWellFormed() : text);

/** Says something to those who cannot see it. */
export function say(text) {
  document.getElementById("live").textContent = text;
}

/** Copies a text, and says so on the button for a moment. */
export async function copy(text, trigger) {
  const before = trigger.textContent;
  try {
    await navigator.clipboard.writeText(text);
    trigger.textContent = "Copied";
  } catch {
    trigger.textContent = "Not allowed to copy";
  }
  say(trigger.textContent);
  setTimeout(() => { trigger.textContent = before; }, 1200);
}
