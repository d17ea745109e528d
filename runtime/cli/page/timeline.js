"use strict";
// Shows the rows of the chosen kinds that have the text, with the rows that they stand below.
(() => {
  const input = document.getElementById("text");
  const buttons = [...document.querySelectorAll(".bar button")];
  const rows = [...document.querySelectorAll("details")];
  const apply = () => {
    const words = input.value.toLowerCase().trim();
    const kinds = new Set(buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.kind));
    const all = kinds.size === 0;
    let below = [];
    for (const row of rows.slice().reverse()) {
      const depth = Number(row.dataset.depth);
      const fits = (all || kinds.has(row.dataset.group)) && (!words || row.textContent.toLowerCase().includes(words));
      const shown = fits || below.some((other) => other > depth);
      below = below.filter((other) => other <= depth);
      if (shown) below.push(depth);
      row.hidden = !shown;
    }
    for (const section of document.querySelectorAll("section")) {
      const some = [...section.querySelectorAll("details")].some((row) => !row.hidden);
      section.querySelector(".none").hidden = some;
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  input.addEventListener("input", apply);
})();
