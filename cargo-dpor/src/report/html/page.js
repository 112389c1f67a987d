const data = JSON.parse(document.getElementById("data").textContent);
const get = id => document.getElementById(id);
/** An element with attributes and children; strings become text. */
function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") { for (const [event, act] of Object.entries(value)) node.addEventListener(event, act); }
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const place = at => at ? `${at.file}:${at.line}` : "";
const thread = id => [...data.threads, ...(data.tree ? data.tree.threads : [])].find(thread => thread.id === id);
const colour = id => `var(--t${id % 8})`;
const threadName = id => { const known = thread(id); return known && known.name ? `t${id} (${known.name})` : `t${id}`; };
const sourceLine = at => { const file = at && data.sources[at.file]; return file ? (file[at.line - 1] || "").trim() : ""; };
const objectName = waiting => waiting.object_name || waiting.object;
const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

function head() {
  const again = data.again && make("div", { class: "command" }, make("code", { title: data.again }, data.again),
    make("button", { on: { click: () => navigator.clipboard && navigator.clipboard.writeText(data.again) } }, "Copy"));
  const simple = data.simplified && make("p", { class: "faint simple" },
    `${plural(data.simplified.preemptions, "preemption")}, ${plural(data.simplified.switches, "switch", "switches")}, ${plural(data.simplified.steps, "step")}` +
    (data.simplified.proven ? ": no schedule that fails like this is simpler" : ""));
  const verdict = [data.verdict, data.shard].filter(Boolean).join(" ");
  document.title = `${data.test}: ${verdict}`;
  get("head").append(
    make("h1", {}, make("span", { class: `verdict ${data.verdict}` }, verdict), " ", data.test),
    data.failure ? make("p", { class: "message" }, make("b", { class: "failed" }, `${data.failure.kind}: `), data.failure.message) : "",
    ...[data.reason, ...data.notes].filter(Boolean).map(text => make("p", { class: "message faint" }, text)),
    simple || "", again || "");
}

/** Rows: steps, and folded runs of steps of one thread in the middle of which nothing is to be seen. */
const FOLD_FROM = 9, KEEP = 3;
let folded = true;
function rows() {
  const steps = data.steps, out = [];
  const decisive = data.decisive;
  for (let at = 0; at < steps.length;) {
    let end = at + 1;
    while (end < steps.length && steps[end].thread === steps[at].thread) end++;
    const long = folded && end - at >= FOLD_FROM;
    for (let i = at; i < end; i++) {
      const middle = long && i >= at + KEEP && i < end - KEEP && i !== decisive;
      const last = out[out.length - 1];
      if (middle && last && last.fold && last.to === i) last.to = i + 1;
      else out.push(middle ? { fold: true, from: i, to: i + 1 } : { step: i });
    }
    at = end;
  }
  return out;
}

let current = 0;
const cells = new Map();
function lanes() {
  const lane = get("lanes");
  lane.replaceChildren();
  lane.style.setProperty("--threads", data.threads.length);
  lane.classList.toggle("many", data.threads.length > 3);
  cells.clear();
  const ids = data.threads.map(thread => thread.id);
  const headRow = make("tr", {}, make("th", { class: "number", scope: "col" }, "#"), ...ids.map(id => make("th", { scope: "col", id: `thread-${id}`, style: `border-bottom-color: ${colour(id)}` }, threadName(id))));
  const body = make("tbody");
  for (const row of rows()) {
    if (row.fold) {
      const text = `${plural(row.to - row.from, "step")} of ${threadName(data.steps[row.from].thread)}`;
      const tr = make("tr", { class: "folded", on: { click: () => { folded = false; lanes(); show(row.from); } } },
        make("td", { class: "number" }, "⋮"), make("td", { class: "whole", colspan: ids.length }, make("span", {}, text)));
      body.append(tr);
      for (let i = row.from; i < row.to; i++) cells.set(i, tr);
      continue;
    }
    const step = data.steps[row.step];
    if (row.step === data.decisive) {
      body.append(make("tr", { class: "note" }, make("td", { class: "number" }, "▶"), make("td", { class: "whole", colspan: ids.length }, make("span", {}, data.instead))));
    }
    const tr = make("tr", { class: row.step === data.decisive ? "step decisive" : "step", tabindex: -1, on: { click: () => show(row.step) } },
      make("td", { class: "number" }, String(row.step + 1)));
    for (const id of ids) {
      const td = make("td");
      if (id === step.thread) {
        td.append(make("div", { class: "who", style: `color: ${colour(id)}` }, threadName(id)), make("div", { class: "mono effect" }, step.effect),
          make("div", { class: "mono source faint" }, ...coloured(sourceLine(step.location), isRust(step.location))[0]),
          make("div", { class: "where" }, place(step.location) + (step.preempted ? ", preempts the thread before" : "")));
        cells.set(row.step, td);
      }
      tr.append(td);
    }
    body.append(tr);
  }
  const table = make("table", {}, make("caption", { class: "gone" }, "One column a thread, one row a step"), make("thead", {}, headRow), body);
  lane.append(table);
  arrows();
}

function showSource(step) {
  const at = step && step.location;
  const file = at && data.sources[at.file];
  const title = make("h2", {}, at ? place(at) : "Source");
  if (!file) { get("source").replaceChildren(title, make("p", { class: "faint" }, at ? "The source is not at hand." : "This step has no place in the source.")); return; }
  const pre = make("pre", { tabindex: 0, "aria-label": `Source of ${at.file}` });
  coloured(file.join("\n"), isRust(at)).forEach((text, i) => pre.append(make("span", { class: i + 1 === at.line ? "line here mono" : "line mono", "aria-current": i + 1 === at.line ? "true" : null }, make("b", {}, String(i + 1)), ...(text.length ? text : [" "]))));
  get("source").replaceChildren(title, pre);
  const line = pre.querySelector(".here");
  if (line) pre.scrollTop = line.offsetTop - pre.offsetTop - pre.clientHeight / 2;
}

function showValues(at) {
  const values = new Map();
  data.steps.slice(0, at + 1).forEach((step, i) => step.values.forEach(value => {
    const known = values.get(value.object) || { history: [value.before] };
    if (value.after !== known.history[known.history.length - 1]) { known.history.push(value.after); known.at = i; }
    values.set(value.object, known);
  }));
  const rows = [...values].map(([name, known]) => make("tr", { class: known.at === at ? "changed" : null },
    make("td", { class: "mono" }, name), make("td", { class: "mono" }, known.history[known.history.length - 1]),
    make("td", { class: "mono faint" }, known.history.join(" → "))));
  get("values").replaceChildren(...(rows.length === 0 ? [] : [make("h2", {}, `Values after step ${at + 1}`),
    make("table", { class: "plain" }, make("tr", {}, ...["object", "value", "so far"].map(text => make("th", { scope: "col" }, text))), ...rows)]));
}

/** Scrolls within the table of steps, where that scrolls by itself. */
function reveal(row) {
  const lane = get("lanes"), [frame, at] = [lane.getBoundingClientRect(), cells.get(current).getBoundingClientRect()];
  const top = frame.top + lane.querySelector("thead").offsetHeight, line = row.getBoundingClientRect();
  if (line.top < top) lane.scrollTop -= top - line.top;
  else if (line.bottom > frame.bottom) lane.scrollTop += Math.min(line.bottom - frame.bottom, line.top - top);
  if (at.left < frame.left) lane.scrollLeft -= frame.left - at.left;
  else if (at.right > frame.right) lane.scrollLeft += Math.min(at.right - frame.right, at.left - frame.left);
}

function show(at, focus = true) {
  if (data.steps.length === 0) return;
  current = Math.max(0, Math.min(at, data.steps.length - 1));
  if (folded && cells.get(current).classList.contains("folded")) { folded = false; lanes(); }
  document.querySelectorAll("#lanes tr.here").forEach(row => { row.classList.remove("here"); row.tabIndex = -1; row.removeAttribute("aria-current"); });
  const row = cells.get(current).closest("tr");
  row.classList.add("here");
  row.tabIndex = 0;
  row.setAttribute("aria-current", "step");
  reveal(row);
  if (focus) { row.focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  const step = data.steps[current];
  showSource(step);
  showValues(current);
  arrows();
  get("say").textContent = `Step ${current + 1} of ${data.steps.length}: ${threadName(step.thread)}: ${step.effect}${step.location ? `, at ${place(step.location)}` : ""}`;
}

function waits() {
  if (!data.failure || data.failure.blocked.length === 0) return;
  const rows = data.failure.blocked.map(thread => make("tr", {},
    make("td", {}, threadName(thread.thread)),
    make("td", { class: "mono" }, `${thread.operation} ${objectName(thread)}`, make("div", { class: "where faint" }, place(thread.location))),
    make("td", {}, ...thread.held_by.map(holder => make("div", {}, threadName(holder.thread), make("div", { class: "mono faint" }, holder.location ? `since ${place(holder.location)}` : ""))))));
  get("waits").append(make("h2", {}, "Who waits for whom in the end"),
    make("table", { class: "plain" }, make("tr", {}, ...["thread", "waits in", "held by"].map(text => make("th", { scope: "col" }, text))), ...rows));
}

function memory() {
  if (!data.failure || data.failure.memory.length === 0) return;
  const rows = data.failure.memory.map(event => make("tr", {},
    make("td", {}, event.verb, make("div", { class: "faint" }, event.remark)),
    make("td", {}, `${event.step + 1}`),
    make("td", {}, threadName(event.thread)),
    make("td", { class: "mono" }, event.location ? place(event.location) : "")));
  get("memory").append(make("h2", {}, "What happened to the memory"),
    make("table", { class: "plain" }, make("tr", {}, ...["what", "step", "thread", "where"].map(text => make("th", { scope: "col" }, text))), ...rows));
}

function mends() {
  if (!data.failure || !data.failure.mends) return;
  const rows = data.failure.mends.all.map(mend => make("tr", {},
    make("td", {}, mend.words),
    make("td", { class: "mono" }, place(mend.location))));
  get("mends").append(make("h2", {}, data.failure.mends.title),
    make("table", { class: "plain" }, make("tr", {}, ...["what", "where"].map(text => make("th", { scope: "col" }, text))), ...rows));
}

function printed() {
  if (data.failure && data.failure.output) get("printed").append(make("h2", {}, "Output of this execution"), make("pre", { class: "output", tabindex: 0 }, data.failure.output));
}

function statistics() {
  get("statistics").append(...data.statistics.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

const tree = data.tree && executionTree();
const switches = data.steps.map((step, i) => i).filter(i => i === 0 || data.steps[i].thread !== data.steps[i - 1].thread);
const keys = {
  ArrowDown: () => show(current + 1), j: () => show(current + 1), ArrowUp: () => show(current - 1), k: () => show(current - 1),
  Home: () => show(0), End: () => show(data.steps.length - 1),
  n: () => show(switches.find(i => i > current) ?? current), p: () => show([...switches].reverse().find(i => i < current) ?? current),
  d: () => { if (data.decisive !== null) show(data.decisive); },
  f: () => { folded = !folded; lanes(); show(current); },
};
const everywhere = tree ? { t: tree.go, x: tree.goToFailing } : {};
document.addEventListener("keydown", event => {
  const within = what => event.target.closest && event.target.closest(what);
  const inPanel = within("pre") && event.key.length > 1;
  const own = within("[role=tree]") ? tree.keys : within("#exploration") || data.steps.length === 0 ? {} : keys;
  const act = own[event.key] || everywhere[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || inPanel || !act) return;
  event.preventDefault();
  act();
});
addEventListener("resize", arrows);

head();
waits();
memory();
mends();
printed();
statistics();
if (data.steps.length === 0) {
  get("main").remove();
} else {
  lanes();
  show(data.decisive ?? data.steps.length - 1, false);
}
if (tree) tree.draw();
