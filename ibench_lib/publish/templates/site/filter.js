"use strict";
// Hides the posts that do not fit; without this script all are there. The address keeps what was asked.
(function () {
  const posts = Array.from(document.querySelectorAll(".posts > li"));
  const fields = ["text", "server", "notebook"].map((name) => document.getElementById(name));
  const [text, server, notebook] = fields;
  const form = document.querySelector(".filters");

  function fits(post) {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const content = post.textContent.toLowerCase();
    const servers = Array.from(post.querySelectorAll(".servers li"), (item) => item.textContent);
    return (
      words.every((word) => content.includes(word)) &&
      (!server.value || servers.includes(server.value)) &&
      (!notebook.value || post.dataset.notebook === notebook.value)
    );
  }

  function filter() {
    posts.forEach((post) => (post.hidden = !fits(post)));
    const left = posts.filter((post) => !post.hidden).length;
    const all = `${posts.length} post${posts.length === 1 ? "" : "s"}`;
    document.getElementById("count").textContent = left === posts.length ? all : `${left} of ${all}`;
    document.getElementById("none").hidden = left > 0 || posts.length === 0;
    const asked = new URLSearchParams(fields.filter((field) => field.value).map((field) => [field.id, field.value]));
    history.replaceState(null, "", asked.size ? `#?${asked}` : location.pathname);
  }

  if (location.hash.startsWith("#?")) {
    const asked = new URLSearchParams(location.hash.slice(2));
    fields.forEach((field) => (field.value = asked.get(field.id) || ""));
  }
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (location.hash.startsWith("#?")) filter();
})();
