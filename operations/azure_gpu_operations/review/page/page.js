"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const FIELDS = ["stack", "operation", "part", "text"];
  const FEW = 40; // matches whose parts are opened
  const lower = (text) => text.toLocaleLowerCase();
  const items = [...document.querySelectorAll("[data-item]")].map((node) => {
    const part = node.closest(".part");
    return {
      node,
      part,
      stack: node.closest("[data-stack]")?.dataset.stack,
      operation: node.dataset.operation,
      partName: part ? part.dataset.part : node.dataset.part,
      text: null,
    };
  });
  const resources = items.filter((item) => item.part).length;
  const parts = [...document.querySelectorAll(".part")];
  const stacks = [...document.querySelectorAll("section.stack")];
  const groups = [...document.querySelectorAll(".together")];
  const folds = [...document.querySelectorAll(".dangers + details, .together > details")];
  const opened = new Set(); // by the filters, which close them again

  const unfold = (node, isMatch) => {
    if (isMatch && !node.open) {
      node.open = true;
      opened.add(node);
    } else if (!isMatch && opened.delete(node)) {
      node.open = false;
    }
  };

  // With what stands once for several: a part's heading, the argument that forces a group.
  const shared = (item) => item.part?.querySelector("summary") ?? item.node.closest(".together")?.querySelector("dl");
  const words = (item) => (item.text ??= lower(`${shared(item)?.textContent ?? ""} ${item.node.textContent}`));
  const wanted = () => Object.fromEntries(FIELDS.map((name) => [name, form.elements[name].value]));
  const differs = (wish, has) => wish !== "" && has !== undefined && wish !== has;

  const apply = () => {
    const filter = wanted();
    const text = lower(filter.text.trim());
    const isNarrow = Boolean(text || filter.operation);
    const matching = new Set();
    let count = 0;
    for (const item of items) {
      const isOut =
        differs(filter.stack, item.stack) ||
        differs(filter.operation, item.operation) ||
        differs(filter.part, item.partName) ||
        (text !== "" && !words(item).includes(text));
      item.node.hidden = isOut;
      if (!isOut && item.part) {
        count += 1;
        matching.add(item.part);
      }
    }
    for (const part of parts) {
      const isEmpty = part.querySelector(".resource") === null && !isNarrow && !differs(filter.part, part.dataset.part);
      part.hidden = !matching.has(part) && !isEmpty;
      unfold(part, isNarrow && count <= FEW && matching.has(part));
    }
    for (const fold of folds) unfold(fold, isNarrow && fold.querySelector("[data-item]:not([hidden])") !== null);
    for (const group of groups) group.hidden = group.querySelector("[data-item]:not([hidden])") === null;
    for (const stack of stacks) stack.hidden = differs(filter.stack, stack.dataset.stack);
    document.getElementById("shown").textContent = `${count.toLocaleString("en")} of ${resources.toLocaleString("en")} resources`;
  };

  let waiting;
  const keep = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const filter = wanted();
      const set = new URLSearchParams(FIELDS.filter((name) => filter[name] !== "").map((name) => [name, filter[name]]));
      history.replaceState(null, "", `#${set}`);
    }, 150); // browsers refuse to be told with every letter
  };

  const follow = () => {
    const fragment = location.hash.slice(1);
    if (fragment.includes("=")) {
      const set = new URLSearchParams(fragment);
      for (const name of FIELDS) form.elements[name].value = set.get(name) ?? "";
      // A value that no option has leaves a list without a choice.
      for (const list of form.querySelectorAll("select")) if (list.selectedIndex < 0) list.value = "";
      apply();
    }
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    apply();
    keep();
  });
  form.addEventListener("reset", () => {
    setTimeout(() => {
      apply();
      keep();
    });
  });
  document.getElementById("unfold").addEventListener("click", (event) => {
    const visible = parts.filter((part) => !part.hidden);
    const open = visible.some((part) => !part.open);
    for (const part of visible) part.open = open;
    opened.clear();
    event.target.textContent = open ? "Close all parts" : "Open all parts";
  });
  addEventListener("hashchange", follow);

  // Where the style sheet can't show what is folded on paper.
  if (!CSS.supports("selector(::details-content)")) {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const each of closed) each.open = true;
    });
    addEventListener("afterprint", () => {
      for (const each of closed) each.open = false;
    });
  }

  form.hidden = false;
  apply();
  follow();
})();
