// The style of one view, fetched when it is first shown.

const sheets = new Map();

/** Done when the sheet views/NAME.css is in place. */
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
