"use strict";
// The search: sections of the pages that have all words, those with a word in their title first.
const box = document.querySelector("input[type=search]"), found = document.getElementById("found"), article = document.querySelector("article");
const up = document.body.dataset.up;

function look() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  article.hidden = !found.hidden;
  found.replaceChildren();
  if (found.hidden) return;
  const hits = [];
  for (const s of sections) {
    const title = (s.page + " " + s.title).toLowerCase(), text = s.text.toLowerCase();
    if (words.every((w) => title.includes(w) || text.includes(w))) hits.push({ s, at: text.indexOf(words[0]), rank: words.filter((w) => title.includes(w)).length });
  }
  hits.sort((a, b) => b.rank - a.rank);
  for (const { s, at } of hits.slice(0, 30)) {
    const a = document.createElement("a"), p = document.createElement("p");
    a.href = up + s.path;
    a.textContent = s.page === s.title ? s.title : s.page + " · " + s.title;
    const from = Math.max(0, at - 60);
    p.textContent = (from > 0 ? "…" : "") + s.text.slice(from, from + 200).trim() + "…";
    found.append(a, p);
  }
  if (hits.length === 0) found.textContent = found.dataset.none;
}

box.addEventListener("input", look);
box.form.addEventListener("submit", (e) => {
  e.preventDefault();
  const first = found.querySelector("a");
  if (first) location.href = first.href;
});
