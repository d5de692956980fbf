'use strict';
// The timelines, and tables that sort. Everything they need is in the page.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Numbers of seven bits to a byte, the lowest first; a segment is length, task, more runs[, permille].
  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    let at = 0;
    const number = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    const start = [], end = [], task = [], runs = [], part = [];
    let time = 0;
    while (at < bytes.length) {
      start.push(time);
      time += number();
      end.push(time);
      task.push(number());
      const more = number();
      runs.push(more + 1);
      part.push(more ? number() / 1000 : 1);
    }
    return { start: Float64Array.from(start), end: Float64Array.from(end), task, runs, part };
  }

  // The first segment that ends after `time`.
  function find(row, time) {
    let low = 0, high = row.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.end[middle] > time) high = middle; else low = middle + 1;
    }
    return low;
  }

  const time = (ns) => {
    const [unit, name] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'];
    return (ns / unit).toFixed(3) + ' ' + name;
  };

  class Timeline {
    constructor(box, run) {
      this.run = run;
      this.rows = run.cpus.map((cpu) => ({ ...unpack(cpu.segments), name: 'cpu' + cpu.cpu, from: cpu.from }));
      for (const row of this.rows) {
        row.start = row.start.map((t) => t + row.from);
        row.end = row.end.map((t) => t + row.from);
      }
      this.canvas = box.querySelector('canvas');
      this.readout = box.querySelector('.readout');
      this.search = box.querySelector('input');
      this.hits = box.querySelector('.hits');
      this.left = 0;
      this.right = run.span;
      this.found = null;
      this.cursor = null;
      const on = (what, element, f) => element.addEventListener(what, f);
      on('keydown', this.canvas, (e) => this.key(e));
      on('wheel', this.canvas, (e) => {
        if (!e.ctrlKey && !e.shiftKey) return;
        e.preventDefault();
        this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.at(e));
      });
      on('dblclick', this.canvas, (e) => this.zoom(0.5, this.at(e)));
      on('pointerdown', this.canvas, (e) => { this.drag = [e.clientX, this.left]; this.canvas.setPointerCapture(e.pointerId); });
      on('pointerup', this.canvas, () => { this.drag = null; });
      on('pointermove', this.canvas, (e) => {
        if (this.drag) {
          const width = this.canvas.clientWidth - Timeline.MARGIN;
          const span = this.right - this.left;
          this.show(this.drag[1] - (e.clientX - this.drag[0]) / width * span, span);
        } else {
          this.point(e);
        }
      });
      on('input', this.search, () => this.look());
      on('keydown', this.search, (e) => { if (e.key === 'Enter') this.next(e.shiftKey ? -1 : 1); });
      for (const button of box.querySelectorAll('button')) {
        on('click', button, () => this.command(button.dataset.do));
      }
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      on('change', dark, () => this.draw());
      this.draw();
    }

    at(event) {
      const box = this.canvas.getBoundingClientRect();
      const part = (event.clientX - box.left - Timeline.MARGIN) / (box.width - Timeline.MARGIN);
      return this.left + Math.min(Math.max(part, 0), 1) * (this.right - this.left);
    }

    show(left, span) {
      span = Math.min(Math.max(span, 100), this.run.span);
      this.left = Math.min(Math.max(left, 0), this.run.span - span);
      this.right = this.left + span;
      this.draw();
    }

    zoom(factor, around) {
      const span = this.right - this.left;
      const middle = around ?? this.cursor ?? (this.left + this.right) / 2;
      this.show(middle - (middle - this.left) * factor, span * factor);
    }

    command(what) {
      const span = this.right - this.left;
      const all = {
        in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.show(0, this.run.span),
        left: () => this.show(this.left - span / 4, span), right: () => this.show(this.left + span / 4, span),
        next: () => this.next(1), previous: () => this.next(-1),
      };
      all[what]?.();
    }

    key(event) {
      const keys = { '+': 'in', '=': 'in', w: 'in', '-': 'out', s: 'out', ArrowLeft: 'left', a: 'left',
        ArrowRight: 'right', d: 'right', 0: 'all', Home: 'all', n: 'next', p: 'previous' };
      if (event.key === '/') {
        this.search.focus();
      } else if (!event.ctrlKey && !event.metaKey && keys[event.key]) {
        this.command(keys[event.key]);
      } else {
        return;
      }
      event.preventDefault();
    }

    // Which tasks the search finds: by a part of the name, or the pid.
    look() {
      const text = this.search.value.trim().toLowerCase();
      this.found = null;
      if (text) {
        this.found = new Set();
        this.run.tasks.forEach((task, n) => {
          if (task.name.toLowerCase().includes(text) || String(task.pid) === text) this.found.add(n + 1);
        });
      }
      this.cursor = null;
      this.hits.textContent = this.found ? this.found.size + ' tasks' : '';
      this.draw();
    }

    // Goes to the next time that a task runs which was searched for.
    next(direction) {
      if (!this.found?.size) return;
      const from = this.cursor ?? (direction > 0 ? this.left - 1 : this.right);
      let best = null;
      for (const row of this.rows) {
        for (let n = find(row, from); n >= 0 && n < row.start.length; n += direction) {
          const there = direction > 0 ? row.start[n] > from : row.start[n] < from;
          if (there && this.found.has(row.task[n])) {
            if (best === null || (row.start[n] - best) * direction < 0) best = row.start[n];
            break;
          }
        }
      }
      if (best === null) return;
      this.cursor = best;
      const span = this.right - this.left;
      if (best < this.left || best > this.right) this.show(best - span / 2, span); else this.draw();
      this.tell(best);
    }

    tell(at, only) {
      const said = this.rows.filter((row) => !only || row === only).map((row) => {
        const n = find(row, at);
        if (!(row.start[n] <= at)) return row.name + ': unknown';
        const task = this.run.tasks[row.task[n] - 1];
        const who = task ? task.name + ' ' + task.pid : 'idle';
        const more = row.runs[n] > 1 ? ` for at least ${(row.part[n] * 100).toFixed(0)} % among ${row.runs[n]} runs` : '';
        return `${row.name}: ${who}${more}, ${time(row.end[n] - row.start[n])}`;
      });
      this.readout.textContent = time(at) + ' · ' + said.slice(0, 8).join(' · ');
    }

    point(event) {
      const y = event.clientY - this.canvas.getBoundingClientRect().top;
      this.tell(this.at(event), this.rows[Math.floor(y / Timeline.ROW)]);
    }

    draw() {
      const { canvas, rows } = this;
      const width = canvas.clientWidth, height = rows.length * Timeline.ROW + 22, scale = devicePixelRatio || 1;
      canvas.style.height = height + 'px';
      canvas.width = width * scale;
      canvas.height = height * scale;
      const c = canvas.getContext('2d');
      c.scale(scale, scale);
      c.fillStyle = colour('--bg');
      c.fillRect(0, 0, width, height);
      c.font = '11px system-ui, sans-serif';
      const inner = width - Timeline.MARGIN, span = this.right - this.left;
      const palette = Array.from({ length: 10 }, (_, n) => colour('--c' + n));
      const x = (t) => Timeline.MARGIN + (t - this.left) / span * inner;
      rows.forEach((row, place) => {
        const y = place * Timeline.ROW;
        c.globalAlpha = 1;
        c.fillStyle = colour('--fg');
        c.fillText(row.name, 4, y + 15);
        // What is thinner than a pixel is drawn once for each pixel: whoever is found there, else who comes first.
        let last = -1;
        for (let n = find(row, this.left); n < row.start.length && row.start[n] < this.right; n++) {
          const from = Math.max(x(row.start[n]), Timeline.MARGIN), to = Math.min(x(row.end[n]), width);
          const who = row.task[n];
          if (!who) continue;
          const hit = this.found ? this.found.has(who) : true;
          if (to - from < 1 && Math.floor(from) === last && !(this.found && hit)) continue;
          last = Math.floor(from);
          c.globalAlpha = (hit ? 1 : 0.15) * (0.35 + 0.65 * row.part[n]);
          c.fillStyle = palette[this.run.tasks[who - 1].colour % 10];
          c.fillRect(from, y + 2, Math.max(to - from, 0.7), Timeline.ROW - 4);
          if (to - from > 60) {
            c.globalAlpha = hit ? 1 : 0.3;
            c.fillStyle = colour('--bg');
            c.save();
            c.beginPath();
            c.rect(from, y, to - from, Timeline.ROW);
            c.clip();
            c.fillText(this.run.tasks[who - 1].name, from + 4, y + 15);
            c.restore();
          }
        }
      });
      c.globalAlpha = 1;
      const rough = span / 8, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
      c.fillStyle = colour('--dim');
      c.textAlign = 'center';
      for (let t = Math.ceil(this.left / step) * step; t <= this.right; t += step) {
        c.fillRect(x(t), rows.length * Timeline.ROW, 1, 5);
        c.fillText(time(t), Math.min(Math.max(x(t), Timeline.MARGIN + 24), width - 30), height - 4);
      }
      c.textAlign = 'left';
      if (this.cursor !== null && this.cursor >= this.left && this.cursor <= this.right) {
        c.fillStyle = colour('--fg');
        c.fillRect(x(this.cursor), 0, 1.5, height);
      }
      canvas.dataset.left = this.left;
      canvas.dataset.right = this.right;
    }
  }
  Timeline.ROW = 22;
  Timeline.MARGIN = 52;

  document.querySelectorAll('.timeline').forEach((box) => {
    new Timeline(box, data.runs[Number(box.dataset.run)]);
  });

  for (const table of document.querySelectorAll('table.sorts')) {
    table.querySelectorAll('th button').forEach((button, column) => {
      button.addEventListener('click', () => {
        const head = button.closest('th');
        const down = head.getAttribute('aria-sort') !== 'descending';
        table.querySelectorAll('th').forEach((th) => th.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const value = (row) => row.cells[column].textContent;
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)], [m, n] = [parseFloat(x), parseFloat(y)];
          const order = Number.isNaN(m) || Number.isNaN(n)
            ? (Number.isNaN(n) - Number.isNaN(m)) || x.localeCompare(y) : m - n;
          return down ? -order : order;
        };
        body.append(...[...body.rows].sort(compare));
      });
    });
  }
  document.documentElement.dataset.ready = 'yes';
})();
