/**
 * Happens-before between threads: who creates whom, and who reads what of whom.
 *
 * An arrow leaves a step along its row, in which there is no other step, goes down beside the column of the other thread, in the
 * padding of its cells, and so crosses no text.
 */
const PADDING = 18, FIRST_LINE = 14, TRACKS = 3;
function arrows() {
  const lane = get("lanes");
  const table = lane && lane.querySelector("table");
  if (!table) return;
  const old = get("arrows");
  if (old) old.remove();
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.id = "arrows";
  svg.setAttribute("aria-hidden", "true");
  svg.innerHTML = '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:context-stroke;stroke:none"/></marker></defs>';
  const frame = table.getBoundingClientRect();
  const box = node => { const r = node.getBoundingClientRect(); return { left: r.left - frame.left, right: r.right - frame.left, top: r.top - frame.top, bottom: r.bottom - frame.top }; };
  // What is drawn in each gutter, by tracks side by side.
  const gutters = new Map();
  const track = (gutter, top, bottom) => {
    const tracks = gutters.get(gutter) || [];
    gutters.set(gutter, tracks);
    const free = n => !(tracks[n] || []).some(([from, to]) => from < bottom && top < to);
    let n = 0;
    while (n + 1 < TRACKS && !free(n)) n++;
    (tracks[n] ||= []).push([top, bottom]);
    return n;
  };
  const draw = (from, to, kind, near) => {
    const [a, b] = [cells.get(from), cells.get(to)];
    if (!a || !b || a === b || to <= from) return;
    const folded = node => node.classList.contains("folded");
    const [s, t] = [box(a), box(b)];
    const [source, target] = [from, to].map(i => box(get(`thread-${data.steps[i].thread}`)));
    const rightwards = target.left > source.left, sign = rightwards ? 1 : -1;
    const y1 = folded(a) ? s.bottom : s.top + FIRST_LINE, y2 = folded(b) ? t.top : t.top + FIRST_LINE;
    const edge = rightwards ? target.left : target.right;
    const x = edge + sign * (3 + 3 * track(`${data.steps[to].thread} ${sign}`, y1, y2));
    const start = folded(a) ? `M${x} ${y1}` : `M${(rightwards ? source.right : source.left) - sign * (PADDING - 4)} ${y1}H${x}`;
    const end = folded(b) ? `V${y2}` : `V${y2}H${edge + sign * (PADDING - 2)}`;
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", start + end);
    path.setAttribute("class", near ? kind : `${kind} dim`);
    path.setAttribute("marker-end", "url(#tip)");
    svg.append(path);
  };
  const firsts = new Map();
  data.steps.forEach((step, i) => { if (!firsts.has(step.thread)) firsts.set(step.thread, i); });
  data.steps.forEach((step, i) => {
    const from = step.reads_from;
    if (from !== null && data.steps[from] && data.steps[from].thread !== step.thread) draw(from, i, "read", i === current || from === current);
  });
  for (const known of data.threads) {
    const first = firsts.get(known.id);
    if (known.parent === null || first === undefined) continue;
    // The creation belongs to the parent's last step before.
    let creator = -1;
    for (let i = 0; i < first; i++) if (data.steps[i].thread === known.parent) creator = i;
    if (creator >= 0) draw(creator, first, "spawn", first === current || creator === current);
  }
  svg.setAttribute("width", table.offsetWidth);
  svg.setAttribute("height", table.offsetHeight);
  lane.append(svg);
}

