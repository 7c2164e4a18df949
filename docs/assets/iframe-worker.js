// Pages that are opened as files cannot start a Web Worker, in which the theme runs its search. Here it runs in an
// iframe instead. The `offline` plugin would load a script for this from another host; this one takes its place,
// because its name contains "iframe-worker".
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          // What the worker sends, the page receives, and the other way round.
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = frame.contentDocument.createElement("script");
          script.src = address;
          script.addEventListener("load", () => resolve(inside));
          frame.contentDocument.head.append(script);
        });
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
