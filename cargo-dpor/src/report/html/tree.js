/** How executions end: a mark, a word, and what it means. */
const kinds = {
  failed: ["✗", "failed", "fails"],
  complete: ["✓", "ends well", "ends well"],
  asleep: ["–", "asleep", "is given up: all that could go on is asleep, as it would only repeat, in another order of steps that are independent, what was explored before"],
  known: ["=", "known state", "is given up: the state that it has come to was reached before by other steps, and what follows from it was explored then"],
  cut: ["✂", "cut", "is cut at a bound: what would follow was not explored"],
};
const mark = kind => make("span", { class: kind }, kinds[kind][0]);

/** The tree of executions: what is shown of each branch, and of the one that is chosen. */
function executionTree() {
  const nodes = data.tree.nodes;
  nodes.forEach((node, i) => { node.next = []; node.counts = {}; if (node.parent !== null) nodes[node.parent].next.push(i); });
  const count = (node, kind, n) => { node.counts[kind] = (node.counts[kind] || 0) + n; };
  // Each comes after the one it branches off.
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    node.ends.forEach(end => count(node, end.kind, 1));
    if (node.parent !== null) Object.entries(node.counts).forEach(([kind, n]) => count(nodes[node.parent], kind, n));
  }
  nodes.forEach(node => { node.depth = node.parent === null ? 0 : nodes[node.parent].depth + nodes[node.parent].steps.length; });
  const operation = ([id, alternative, site]) => {
    const { operation, object } = data.tree.sites[site] || {};
    return [operation || "step", object, alternative > 0 && `(alternative ${alternative + 1})`].filter(Boolean).join(" ");
  };
  const place = ([, , site]) => data.tree.sites[site] && data.tree.sites[site].place;
  const line = ([, , site]) => data.tree.sites[site] && data.tree.sites[site].line;
  const total = node => Object.values(node.counts).reduce((sum, n) => sum + n, 0);
  const endText = end => end.kind === "failed" ? end.failure : kinds[end.kind][1];
  const path = i => { const all = []; for (let at = i; at !== null; at = nodes[at].parent) all.unshift(at); return all; };
  const failing = nodes.findIndex(node => node.ends.some(end => end.kind === "failed"));
  const onFailing = new Set(failing < 0 ? [] : path(failing));
  const items = new Map();
  let chosen = 0;

  /** Steps in a line, by threads. */
  function run(steps) {
    const parts = [], most = 8;
    steps.slice(0, most).forEach((step, i) => {
      if (i === 0 || steps[i - 1][0] !== step[0]) parts.push(make("b", { style: `color: ${colour(step[0])}` }, `t${step[0]}`), make("span", { class: "mono" }, operation(step)));
      else parts[parts.length - 1].append(` · ${operation(step)}`);
    });
    if (steps.length > most) parts.push(make("span", { class: "faint" }, ` … ${plural(steps.length - most, "more step")}`));
    return make("span", { class: "run" }, ...(steps.length ? parts : [make("span", { class: "faint" }, "start")]));
  }

  function summary(node) {
    if (node.next.length === 0 && node.ends.length === 1) return make("span", { class: `sum ${node.ends[0].kind}` }, mark(node.ends[0].kind), ` ${endText(node.ends[0])}`);
    const parts = Object.keys(kinds).filter(kind => node.counts[kind]).map(kind => make("span", { class: kind }, ` ${node.counts[kind]} `, mark(kind)));
    return make("span", { class: "sum counts" }, `${plural(total(node), "execution")}:`, ...parts);
  }

  function item(i) {
    const node = nodes[i];
    const twist = make("span", { class: "twist", "aria-hidden": "true" }, node.next.length ? "▸" : "");
    const label = make("div", { class: "row", id: `branch-${i}`, on: { click: () => { if (chosen === i && node.next.length) open(i, !isOpen(i)); choose(i); } } }, twist, run(node.steps), summary(node));
    const li = make("li", { role: "treeitem", tabindex: -1, "aria-labelledby": `branch-${i}`, "aria-selected": "false", "aria-level": path(i).length,
      "aria-expanded": node.next.length ? "false" : null, class: onFailing.has(i) ? "failing" : null }, label);
    items.set(i, li);
    return li;
  }

  const isOpen = i => items.has(i) && items.get(i).getAttribute("aria-expanded") === "true";
  function open(i, wanted = true) {
    const li = items.get(i), node = nodes[i];
    if (node.next.length === 0 || isOpen(i) === wanted) return;
    li.setAttribute("aria-expanded", String(wanted));
    li.querySelector(".twist").textContent = wanted ? "▾" : "▸";
    if (wanted && !li.querySelector("ul")) li.append(make("ul", { role: "group" }, ...node.next.map(item)));
    li.querySelector("ul").hidden = !wanted;
  }

  function choose(i, focus = true) {
    path(i).slice(0, -1).forEach(at => open(at));
    const old = items.get(chosen);
    old.tabIndex = -1;
    old.setAttribute("aria-selected", "false");
    chosen = i;
    const li = items.get(i);
    li.tabIndex = 0;
    li.setAttribute("aria-selected", "true");
    if (focus) { li.focus({ preventScroll: true }); li.querySelector(".twist").scrollIntoView({ block: "nearest", inline: "nearest" }); }
    detail(focus);
  }

  const chip = id => make("b", { style: `color: ${colour(id)}` }, threadName(id));
  const goTo = (i, text) => make("button", { on: { click: () => choose(i) } }, text);

  /** Where a transition that sleeps at the end of a path was explored: in the branch nearest to the end that began with it. */
  function explored(i, [id, alternative]) {
    for (let at = i; at !== null && nodes[at].parent !== null && !nodes[at].steps.some(step => step[0] === id); at = nodes[at].parent) {
      const before = nodes[nodes[at].parent].next;
      const found = before.slice(0, before.indexOf(at)).find(other => nodes[other].steps[0][0] === id && nodes[other].steps[0][1] === alternative);
      if (found !== undefined) return found;
    }
    return null;
  }

  function ending(i, end) {
    const what = end.kind === "failed" ? `fails: ${end.failure}` : kinds[end.kind][2];
    const asleep = end.asleep.map(step => {
      const found = explored(i, step);
      return make("li", {}, chip(step[0]), " ", make("span", { class: "mono" }, operation(step)), found === null ? "" : ": was explored ", found === null ? "" : goTo(found, `after step ${nodes[found].depth}`));
    });
    const shown = end.kind !== "failed" || data.tree.shown === null || data.steps.length === 0 ? "" :
      data.tree.shown ? " Its schedule is the one above." : " The schedule above is a simpler one that fails in the same way.";
    return make("div", {}, make("p", { class: "message" }, mark(end.kind), ` Execution ${end.execution} ${what}.${shown}`), asleep.length ? make("ul", {}, ...asleep) : "");
  }

  function detail(say) {
    const node = nodes[chosen], last = node.depth + node.steps.length;
    const title = node.next.length ? `After step ${last}: ${plural(node.next.length, "way", "ways")} to go on` : `${plural(last, "step")} to the end`;
    const most = 300;
    const list = make("ol", { start: Math.max(0, last - most) + 1 });
    let number = 0;
    for (const at of path(chosen)) {
      const { parent, steps } = nodes[at];
      const others = parent === null ? [] : nodes[parent].next.filter(other => other !== at);
      steps.forEach((step, i) => {
        number += 1;
        if (number <= last - most) return;
        list.append(make("li", { class: at === chosen ? "own" : null },
          i === 0 && others.length ? make("div", { class: "others" }, "or ", ...others.map(other => goTo(other, `t${nodes[other].steps[0][0]} ${operation(nodes[other].steps[0])}`))) : "",
          chip(step[0]), " ", make("span", { class: "mono" }, operation(step)), make("div", { class: "where faint" }, [place(step), line(step)].filter(Boolean).join("  "))));
      });
    }
    get("path").replaceChildren(make("h2", {}, title), ...node.ends.map(end => ending(chosen, end)),
      ...(node.next.length ? [make("div", {}, ...node.next.map(next => make("div", {}, goTo(next, `t${nodes[next].steps[0][0]} ${operation(nodes[next].steps[0])}`), " ", summary(nodes[next]))))] : []),
      last > most ? make("p", { class: "faint" }, `The last ${most} steps:`) : "", list);
    if (say) get("say").textContent = `${items.get(chosen).firstChild.textContent}. ${title}`;
  }

  /** What is to be seen, from top to bottom. */
  function visible() {
    const all = [];
    const left = [0];
    while (left.length) { const i = left.pop(); all.push(i); if (isOpen(i)) left.push(...[...nodes[i].next].reverse()); }
    return all;
  }
  const move = by => { const all = visible(); choose(all[Math.max(0, Math.min(all.indexOf(chosen) + by, all.length - 1))]); };
  const keys = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1), Home: () => choose(0), End: () => move(Infinity),
    ArrowRight: () => { if (isOpen(chosen)) choose(nodes[chosen].next[0]); else open(chosen); },
    ArrowLeft: () => { if (isOpen(chosen)) open(chosen, false); else if (nodes[chosen].parent !== null) choose(nodes[chosen].parent); },
    Enter: () => open(chosen, !isOpen(chosen)), " ": () => open(chosen, !isOpen(chosen)),
    Escape: () => show(current),
  };

  function draw() {
    const { told, all, from } = data.tree;
    const fails = failing >= 0;
    const ones = from === 1 ? `the first ones${fails ? ", and the one that fails" : ""}` : fails && told === 1 ? "the one that fails" : `some from number ${from} on`;
    const ran = data.verdict === "complete" ? "" : " that were run";
    const some = told < all ? `${told} of the ${all} executions${ran}: ${ones}. The rest is not on record.` : told === 1 ? `One execution${ran && " that was run"}.` : `All ${all} executions${ran}.`;
    const rest = told === all && data.verdict === "complete" && !data.shard ? "Other orders of the steps come to nothing else: they differ in the order of independent steps only, or lead to states that are reached here. " : "";
    const used = Object.keys(kinds).filter(kind => nodes[0].counts[kind]);
    get("tree").append(
      make("p", { class: "faint", id: "tree-note" }, `${some} Each row is a branch: the steps up to where executions part again. ${rest}`,
        make("span", { class: "ends" }, ...used.map(kind => make("span", {}, mark(kind), ` ${kinds[kind][1]}`)))),
      make("p", { class: "faint" }, make("kbd", {}, "t"), " here, ", make("kbd", {}, "↓"), " ", make("kbd", {}, "↑"), " next and previous branch, ", make("kbd", {}, "→"), " ", make("kbd", {}, "←"), " into it and out of it",
        ...(failing >= 0 ? [", ", make("kbd", {}, "x"), " the one that fails"] : []), ...(data.steps.length ? [", ", make("kbd", {}, "Esc"), " back to the schedule"] : [])),
      make("div", { class: "split" }, make("ul", { id: "branches", role: "tree", "aria-label": "Executions" }, item(0)), make("div", { id: "path", role: "region", "aria-label": "The chosen branch" })));
    // As much as can be overlooked: level by level.
    let rows = 1;
    for (let level = [0]; level.length && rows < 60; level = level.flatMap(i => nodes[i].next)) {
      for (const i of level) if (rows < 60) { open(i); rows += nodes[i].next.length; }
    }
    const leaf = nodes.findIndex(node => node.next.length === 0);
    choose(failing >= 0 ? failing : leaf, false);
  }
  return { keys, draw, go: () => choose(chosen), goToFailing: () => { if (failing >= 0) choose(failing); } };
}
