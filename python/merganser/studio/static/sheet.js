// Loads the style sheet of a view when the view is first shown.

const sheets = new Map();

/** Resolves when views/NAME.css is loaded. */
export function sheet(name) {
  if (!sheets.has(name)) {
    sheets.set(name, new Promise((resolve) => {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = new URL(`views/${name}.css`, import.meta.url);
      link.onload = link.onerror = resolve;
      document.head.append(link);
    }));
  }
  return sheets.get(name);
}
