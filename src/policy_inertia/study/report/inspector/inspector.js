// Show recorded episodes step by step. No framework, no network; text never becomes HTML.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const [PREVIOUS, ACTION, REWARD, MU, CORE, MIXED, MOVED] = [0, 1, 2, 3, 4, 5, 6];
  const SOLID = 0.5; // an arrow is solid from this probability on, as in the paper

  const attach = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const el = (name, attributes = {}, ...children) =>
    attach(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) =>
    attach(document.createElementNS(SVG, name), attributes, children);
  const colour = (action) => `var(--a${action % 8})`;
  const LEAST_MOVE = 0.01; // as a share of the range: smaller moves count as none
  const continuous = (step) => Array.isArray(step[ACTION]); // shares of the range of each number
  const starts = (step) => continuous(step) ? step[PREVIOUS] === null : step[PREVIOUS] < 0;
  const switched = (step) => !starts(step) && (continuous(step)
    ? step[MOVED] > LEAST_MOVE : step[PREVIOUS] !== step[ACTION]);
  const percent = (p) => `${(100 * p).toFixed(1)}%`;

  function arrow(solid) {
    const line = { x1: 1, y1: 8, x2: 44, y2: 8, stroke: "currentColor", "stroke-width": 3 };
    if (!solid) line["stroke-dasharray"] = "5 4";
    const head = { points: "42,2 54,8 42,14", fill: solid ? "currentColor" : "none" };
    return svg("svg", { viewBox: "0 0 56 16", "aria-hidden": "true" }, svg("line", line),
      svg("polygon", { ...head, stroke: "currentColor", "stroke-width": 2 }));
  }

  // One policy: its frame, its controller and core, and their distributions.
  class Side {
    constructor(data) {
      this.data = data;
      this.returns = [];
      data.steps.reduce((sum, step, t) => (this.returns[t] = sum + step[REWARD]), 0);
      this.score = el("span");
      this.outcome = el("p", { class: "outcome" });
      this.arrows = el("div", { class: "arrows" });
      this.bars = el("table", { class: "bars" });
      this.image = data.frames.length
        ? el("img", { class: "frame", alt: "" })
        : el("div", { class: "no-frames" }, "No frames: the env was not rendered.");
      if (data.frames.length) {
        this.image.addEventListener("load", () => this.image.style.setProperty(
          "--shape", `${this.image.naturalWidth} / ${this.image.naturalHeight}`));
        data.pictures = data.frames.map((source) => { const i = new Image(); i.src = source; return i; });
      }
      const acts = data.sampled ? "sampled" : "greedy";
      this.node = el("div", { class: "side" }, el("h4", {}, `${data.label} (${acts})`, this.score),
        this.image, this.outcome, this.arrows, this.bars, this.key());
    }

    key() {
      const items = [];
      const item = (style, text) => {
        const mark = el("i");
        mark.style.background = style;
        items.push(el("li", {}, mark, text));
      };
      if (this.data.steps.some((step) => step[CORE])) {
        if (this.data.nested) item("var(--orange)", "core");
        item("var(--blue)", this.data.nested ? "mixed policy" : "policy");
      }
      return el("ul", { class: "key" }, ...items);
    }

    name(action) { return this.data.actions[action]; }

    show(t) {
      const { data } = this;
      const last = data.steps.length - 1;
      const over = t > last;
      const step = data.steps[Math.min(t, last)];
      if (data.frames.length) {
        this.image.src = data.frames[data.frame[Math.min(t, last + 1)]];
        this.image.alt = `${data.env}, ${over ? "the end" : `step ${t}`}`;
      }
      this.score.textContent = `return ${this.returns[Math.min(t, last)].toFixed(2)}`;
      this.node.dataset.mu = step[MU];
      this.node.dataset.action = step[ACTION];
      this.describe(step, over);
      this.distributions(step);
    }

    sentence(step) {
      if (continuous(step)) {
        const now = step[ACTION].map(percent).join(", ");
        return [starts(step) ? "starts at " : `moves by ${percent(step[MOVED])} of its range to `, now];
      }
      const now = this.name(step[ACTION]);
      if (starts(step)) return ["starts with ", now];
      if (switched(step)) return [`switches from ${this.name(step[PREVIOUS])} to `, now];
      return ["holds ", now];
    }

    describe(step, over) {
      const badge = el("b");
      if (!continuous(step)) badge.style.borderColor = colour(step[ACTION]);
      const [did, now] = this.sentence(step);
      badge.append(now);
      this.outcome.replaceChildren(did, badge, over ? ` — and the episode ${this.data.end}` : "");
      const arrows = [];
      if (this.data.nested && starts(step)) {
        arrows.push(el("span"), el("span", {}, "nothing to repeat yet: the core alone decides"));
      } else if (this.data.nested) {
        const holds = step[MU] >= SOLID;
        const verb = holds ? "holds" : "lets go of";
        arrows.push(el("span", { class: "controller" }, arrow(holds)), el("span", { class: "mu-text" },
          `controller ${verb} ${this.name(step[PREVIOUS])}, mu ${step[MU].toFixed(3)}`));
      }
      if (step[CORE]) {
        const top = step[CORE].indexOf(Math.max(...step[CORE]));
        const part = this.data.nested ? "core" : "policy";
        arrows.push(el("span", { class: "core" }, arrow(step[CORE][top] >= SOLID)),
          el("span", {}, `${part} prefers ${this.name(top)}, ${percent(step[CORE][top])}`));
      }
      this.arrows.replaceChildren(...arrows);
    }

    distributions(step) {
      if (!step[MIXED]) return;
      const bar = (kind, p) => {
        const node = el("i", { class: kind });
        node.style.width = percent(p);
        return node;
      };
      this.bars.replaceChildren(...step[MIXED].map((p, a) => {
        const core = step[CORE][a];
        const coreBar = this.data.nested ? [bar("of-core", core)] : [];
        const marks = a === step[ACTION] ? " ●" : a === step[PREVIOUS] ? " ↺" : "";
        const name = el("th", { scope: "row" }, this.name(a) + marks);
        const number = this.data.nested ? `${percent(core)} → ${percent(p)}` : percent(p);
        return el("tr", a === step[ACTION] ? { class: "chosen" } : {}, name,
          el("td", {}, ...coreBar, bar("of-mixed", p)), el("td", { class: "number" }, number));
      }));
    }
  }

  // One line for each number of continuous actions, from its lower to its upper bound.
  function traces(data, box, cursor) {
    const moves = data.steps.filter((step) => !starts(step)).map((step) => step[MOVED]);
    const mean = moves.reduce((sum, move) => sum + move, 0) / Math.max(moves.length, 1);
    const summary = `${data.label}: moves by ${percent(mean)} of its range per step`;
    const lines = data.steps[0][ACTION].map((_, i) => svg("polyline", { fill: "none",
      "vector-effect": "non-scaling-stroke", "stroke-width": 2, stroke: colour(i),
      points: data.steps.map((step, t) => `${t + 0.5},${1 - step[ACTION][i]}`).join(" ") }));
    return el("div", { class: "time" },
      el("div", { class: "name" }, el("span", {}, summary), el("span", {}, data.end)),
      svg("svg", { ...box, class: "traces", role: "img", "aria-label": summary }, ...lines, cursor));
  }

  // The strip of actions and mu over time; all sides share one time axis.
  function timeline(data, length, cursors) {
    const box = (height) => ({ viewBox: `0 0 ${length} ${height}`, preserveAspectRatio: "none" });
    const cursor = () => {
      const line = svg("line", { y1: -0.12, y2: 1.12, stroke: "var(--ink)", "stroke-width": 2,
        "vector-effect": "non-scaling-stroke" });
      cursors.push(line);
      return line;
    };
    if (continuous(data.steps[0])) return traces(data, box(1), cursor());
    const runs = [];
    data.steps.forEach((step, t) => {
      const run = runs[runs.length - 1];
      if (run && run.action === step[ACTION]) run.end = t + 1;
      else runs.push({ action: step[ACTION], start: t, end: t + 1 });
    });
    const gap = Math.min(0.12, length / 2000);
    const cells = runs.map((run) => svg("rect", { x: run.start, y: 0, height: 1,
      width: Math.max(run.end - run.start - gap, gap), fill: colour(run.action) }));
    const count = data.steps.filter(switched).length;
    const summary = `${data.label}: ${count} switches in ${data.steps.length} steps`;
    const strip = svg("svg", { ...box(1), class: "strip", role: "img", "aria-label": summary },
      ...cells, cursor());
    const node = el("div", { class: "time" },
      el("div", { class: "name" }, el("span", {}, summary), el("span", {}, data.end)), strip);
    if (data.nested) {
      const points = data.steps.map((step, t) => `${t + 0.5},${1 - step[MU]}`).join(" ");
      const stroke = { fill: "none", "vector-effect": "non-scaling-stroke" };
      node.append(svg("svg", { ...box(1), class: "mu", role: "img", "aria-label": "mu over time, from 0 to 1" },
        svg("polyline", { ...stroke, points: `0,0.5 ${length},0.5`, stroke: "var(--line)", "stroke-dasharray": "4 4" }),
        svg("polyline", { ...stroke, points, stroke: "currentColor", "stroke-width": 2 }), cursor()));
    }
    return node;
  }

  function legend(data) {
    const first = data.steps[0];
    const names = continuous(first) ? first[ACTION].map((_, i) => `number ${i}`) : data.actions;
    return el("ul", { class: "key" }, ...names.map((name, action) => {
      const mark = el("i");
      mark.style.background = colour(action);
      return el("li", {}, mark, name);
    }), ...(data.nested ? [(() => {
      const mark = el("i");
      mark.style.background = "var(--red)";
      return el("li", {}, mark, "mu");
    })()] : []));
  }

  class Inspector {
    constructor(root) {
      this.root = root;
      this.scenes = JSON.parse(root.querySelector("script").textContent);
      this.stage = el("div");
      this.scrub = el("input", { type: "range", min: 0, "aria-label": "step" });
      this.where = el("span", { class: "where" });
      this.live = el("p", { class: "hidden", "aria-live": "polite" });
      this.play = el("button", { type: "button", class: "play" }, "Play");
      this.speed = el("select", { "aria-label": "steps per second" }, ...[2, 5, 10, 20].map((n) =>
        el("option", n === 5 ? { value: n, selected: "" } : { value: n }, `${n} steps/s`)));
      const button = (text, label, act) => {
        const node = el("button", { type: "button", "aria-label": label, title: label }, text);
        node.addEventListener("click", act);
        return node;
      };
      this.play.addEventListener("click", () => this.toggle());
      this.scrub.addEventListener("input", () => { this.stop(); this.show(Number(this.scrub.value)); });
      this.speed.addEventListener("change", () => { if (this.timer) { this.stop(); this.toggle(); } });
      const choice = el("select", { class: "scene", "aria-label": "episode" }, ...this.scenes.map((scene, k) =>
        el("option", { value: k }, scene.title)));
      choice.addEventListener("change", () => this.open(Number(choice.value)));
      const key = (text) => el("kbd", {}, text);
      root.append(...(this.scenes.length > 1 ? [choice] : [el("p", { class: "hint title" }, this.scenes[0].title)]),
        this.stage,
        el("div", { class: "controls" },
          button("‹ switch", "previous switch", () => this.jump(-1)), button("‹", "one step back", () => this.step(-1)),
          this.play, button("›", "one step forward", () => this.step(1)),
          button("switch ›", "next switch", () => this.jump(1)), this.scrub, this.where, this.speed),
        el("p", { class: "hint" }, key("←"), " ", key("→"), " step, ", key("space"), " plays, ", key("n"), " ", key("p"),
          " next and previous switch. Point at a strip to see that step."), this.live);
      root.addEventListener("keydown", (event) => this.key(event));
      this.open(0);
    }

    open(k) {
      this.stop();
      const scene = this.scenes[k];
      this.length = Math.max(...scene.sides.map((side) => side.steps.length));
      this.sides = scene.sides.map((side) => new Side(side));
      this.cursors = [];
      this.scrub.max = this.length;
      const times = scene.sides.map((side) => timeline(side, this.length, this.cursors));
      for (const time of times) {
        const point = (event) => {
          const place = time.getBoundingClientRect();
          const t = Math.floor(((event.clientX - place.left) / place.width) * this.length);
          this.stop();
          this.show(Math.max(0, Math.min(this.length - 1, t)));
        };
        time.addEventListener("pointermove", point);
        time.addEventListener("pointerdown", point);
      }
      const most = scene.sides.reduce((a, b) => (b.nested ? b : a));
      this.stage.replaceChildren(el("div", { class: "sides" }, ...this.sides.map((side) => side.node)),
        ...times, legend(most));
      this.show(0);
    }

    show(t) {
      this.t = t;
      for (const side of this.sides) side.show(t);
      const x = Math.min(t + 0.5, this.length);
      for (const line of this.cursors) { line.setAttribute("x1", x); line.setAttribute("x2", x); }
      this.scrub.value = t;
      this.root.dataset.step = t;
      this.where.textContent = t < this.length ? `step ${t} / ${this.length - 1}` : "the end";
      if (!this.timer) {
        this.live.textContent = `Step ${t}. ` + this.sides.map((side) => {
          const step = side.data.steps[Math.min(t, side.data.steps.length - 1)];
          const mu = side.data.nested ? `, mu ${step[MU].toFixed(3)}` : "";
          return `${side.data.label} ${side.sentence(step).join("")}${mu}.`;
        }).join(" ");
      }
    }

    step(by) { this.stop(); this.show(Math.max(0, Math.min(this.length, this.t + by))); }

    jump(by) {
      this.stop();
      const at = (t) => this.sides.some(({ data }) => t < data.steps.length && switched(data.steps[t]));
      for (let t = this.t + by; t >= 0 && t < this.length; t += by) {
        if (at(t)) { this.show(t); return; }
      }
    }

    toggle() {
      if (this.timer) { this.stop(); return; }
      if (this.t >= this.length) this.show(0);
      this.play.textContent = "Pause";
      this.timer = setInterval(() => {
        if (this.t >= this.length) this.stop();
        else this.show(this.t + 1);
      }, 1000 / Number(this.speed.value));
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.play.textContent = "Play";
    }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "SELECT") return;
      const acts = {
        ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
        n: () => this.jump(1), p: () => this.jump(-1),
        Home: () => { this.stop(); this.show(0); }, End: () => { this.stop(); this.show(this.length); },
      };
      if (event.target.tagName !== "BUTTON") acts[" "] = () => this.toggle();
      if (!acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    }
  }

  for (const root of document.querySelectorAll(".inspector")) new Inspector(root);
})();
