"use strict";
(function () {
  const all = (place, what) => Array.from(place.querySelectorAll(what));

  // Sorting: figures by `data-v`, texts by language; the first click on figures shows the largest.
  function key(row, column) {
    const cell = row.cells[column];
    const value = cell.dataset.v;
    if (value !== undefined) return value === "" ? NaN : Number(value.replace("inf", "Infinity"));
    const text = cell.firstElementChild ? cell.firstElementChild.textContent : cell.textContent;
    return cell.classList.contains("text") ? text : Number(text);
  }

  function compare(a, b) {
    if (typeof a === "string") return a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(b) - Number.isNaN(a);
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function sort(table, head) {
    const column = head.cellIndex;
    const before = head.getAttribute("aria-sort");
    const text = head.classList.contains("text");
    const up = before ? before === "descending" : text;
    close(table);
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map((row, i) => ({ row, i, key: key(row, column) }));
    rows.sort((a, b) => (up ? 1 : -1) * compare(a.key, b.key) || a.i - b.i);
    for (const each of rows) body.append(each.row);
    for (const each of all(table, "th[aria-sort]")) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    restrict(table);
  }

  // The first rows that fit what is looked for are shown, the others on request.
  const first = new Map();

  function restrict(table) {
    if (!first.has(table)) return;
    let n = 0;
    for (const row of Array.from(table.tBodies[0].rows)) {
      if (row.classList.contains("figures")) continue;
      row.hidden = row.unfit || ++n > first.get(table);
    }
    const button = document.querySelector('.more button[data-of="' + table.id + '"]');
    button.parentElement.hidden = n <= first.get(table);
    button.textContent = "Show all " + n.toLocaleString("en");
  }

  function showAll(table) {
    first.set(table, Infinity);
    restrict(table);
  }

  for (const table of all(document, "table[data-first]")) {
    first.set(table, Number(table.dataset.first));
    restrict(table);
  }
  for (const button of all(document, ".more button")) {
    button.addEventListener("click", () => showAll(document.getElementById(button.dataset.of)));
  }

  // A link to a row that is not shown shows it.
  function follow() {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || row.tagName !== "TR" || !row.hidden) return;
    showAll(row.closest("table"));
    if (row.hidden) {
      wanted.value = whose.value = "";
      find();
    }
    row.scrollIntoView();
  }

  for (const table of all(document, "table.sortable")) {
    for (const head of all(table, "th[data-sort]")) {
      head.firstElementChild.addEventListener("click", () => sort(table, head));
    }
  }

  // Finding: part of a name, and the class it speaks for.
  const features = document.getElementById("feature-table");
  const rows = Array.from(features.tBodies[0].rows);
  const tools = document.querySelector(".tools");
  const [wanted, whose] = [tools.querySelector("input"), tools.querySelector("select")];
  const told = tools.querySelector("output");

  function find() {
    close(features);
    const part = wanted.value.toLowerCase();
    const name = whose.value === "" ? null : whose.selectedOptions[0].textContent;
    let shown = 0;
    for (const row of rows) {
      const fits = row.querySelector(".name bdi").textContent.toLowerCase().includes(part)
        && (name === null || row.querySelector(".who").textContent === name);
      row.unfit = !fits;
      shown += fits;
    }
    restrict(features);
    told.textContent = shown === rows.length ? "" : shown + " of " + rows.length;
  }

  wanted.addEventListener("input", find);
  whose.addEventListener("input", find);
  tools.hidden = rows.length < 2;
  window.addEventListener("hashchange", follow);
  follow();

  // A row opens to its figures in every class.
  const kinds = ["weight", "count", "center", "dispersion"];
  const classes = all(document, "#class-table tbody td:first-child").map((c) => c.textContent);

  function close(table) {
    for (const each of all(table, "tr.figures")) each.remove();
  }

  function cell(row, tag, text, kind) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    row.append(made);
  }

  function figures(row) {
    const given = kinds.filter((kind) => row.dataset[kind]);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const text of ["class", ...given]) cell(head, "th", text, text === "class" ? "text" : "");
    const columns = given.map((kind) => row.dataset[kind].split("|"));
    const body = table.createTBody();
    names.forEach((name, c) => {
      const line = body.insertRow();
      cell(line, "td", name, "text");
      for (const column of columns) cell(line, "td", column[c], "");
    });
    return table;
  }

  const names = classes.slice();  // in the order of the figures, however the table is sorted later

  features.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || !kinds.some((kind) => row.dataset[kind])) return;
    const open = row.nextElementSibling && row.nextElementSibling.classList.contains("figures");
    close(features);
    if (open) return;
    const added = document.createElement("tr");
    added.className = "figures";
    const place = added.insertCell();
    place.colSpan = row.cells.length;
    place.append(figures(row));
    row.after(added);
  });

  // Charts: the nearest point is read off its table, by pointer or arrow keys.
  const SVG = "http://www.w3.org/2000/svg";

  function charted(chart) {
    const table = document.getElementById(chart.dataset.points);
    const heads = all(table, "thead th").map((th) => th.textContent.trim());
    const lines = Array.from(table.tBodies[0].rows).map((row) => ({
      chosen: row.classList.contains("chosen"),
      cells: Array.from(row.cells).map((td) => td.textContent.trim()),
    }));
    const reading = chart.querySelector(".reading");
    let at = Math.max(lines.findIndex((line) => line.chosen), 0);

    function drawn() {
      return all(chart, ".drawing").find((each) => each.getClientRects().length);
    }

    function places(drawing) {
      return drawing.dataset.x.split(" ").map(Number);
    }

    function cross(drawing, x) {
      let line = drawing.querySelector(".cross");
      if (!line) {
        line = document.createElementNS(SVG, "line");
        line.setAttribute("class", "cross");
        drawing.querySelector("svg").append(line);
      }
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      line.setAttribute("y1", drawing.dataset.top);
      line.setAttribute("y2", drawing.dataset.bottom);
    }

    function show(i) {
      at = Math.min(Math.max(i, 0), lines.length - 1);
      const drawing = drawn();
      const svg = drawing.querySelector("svg");
      const x = places(drawing)[at];
      cross(drawing, x);
      const said = heads.map((head, c) => [head, lines[at].cells[c]]).filter((pair) => pair[1]);
      reading.textContent = said.map((pair) => pair.join(": ")).join("\n")
        + (lines[at].chosen ? "\nchosen" : "");
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const room = chart.clientWidth - reading.offsetWidth;
      const left = x * scale < chart.clientWidth / 2 ? x * scale + 10 : x * scale - 10 - reading.offsetWidth;
      reading.style.left = Math.min(Math.max(left, 0), Math.max(room, 0)) + "px";
      reading.style.top = Number(drawing.dataset.top) * scale + 6 + "px";
      reading.style.visibility = "visible";
    }

    function hide() {
      reading.style.visibility = "hidden";
      for (const line of all(chart, ".cross")) line.remove();
    }

    chart.addEventListener("pointermove", (event) => {
      const drawing = drawn();
      const box = drawing.querySelector("svg").getBoundingClientRect();
      const svg = drawing.querySelector("svg");
      const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
      const near = places(drawing).map((each) => Math.abs(each - x));
      show(near.indexOf(Math.min(...near)));
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("focus", () => { if (chart.matches(":focus-visible")) show(at); });
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
      if (step === undefined && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      show(event.key === "Home" ? 0 : event.key === "End" ? lines.length - 1 : at + step);
    });
  }

  all(document, ".chart[data-points]").forEach(charted);

  // The cloud of features: the nearest is read off, those that are looked for stand out.
  function cloud(chart) {
    const reading = chart.querySelector(".reading");
    const input = chart.parentElement.querySelector(".tools input");
    const told = chart.parentElement.querySelector(".tools output");
    const heads = all(features, "thead th").map((th) => th.textContent.trim());
    const name = (row) => row.querySelector(".name bdi").textContent;
    let at = -1;

    const drawn = () => all(chart, ".drawing").find((each) => each.getClientRects().length);
    const places = (drawing, axis) => drawing.dataset[axis].split(" ").map(Number);

    function marked() {
      const part = input.value.toLowerCase();
      const found = part === "" ? [] : rows.slice(0, places(drawn(), "x").length)
        .map((row, i) => i).filter((i) => name(rows[i]).toLowerCase().includes(part));
      told.textContent = part === "" ? "" : found.length + " found";
      for (const drawing of all(chart, ".drawing")) {
        const [x, y] = [places(drawing, "x"), places(drawing, "y")];
        const which = at < 0 ? found : found.concat(at);
        drawing.querySelector(".found").setAttribute(
          "d", which.map((i) => "M" + x[i] + " " + y[i] + "h0").join(""));
      }
    }

    function show(i) {
      const drawing = drawn();
      const [x, y] = [places(drawing, "x"), places(drawing, "y")];
      at = Math.min(Math.max(i, 0), x.length - 1);
      marked();
      const cells = Array.from(rows[at].cells);
      const said = ["speaks for", "weight", "gain", "rows", "count"].filter((head) => heads.includes(head))
        .map((head) => head + ": " + cells[heads.indexOf(head)].textContent.trim());
      reading.textContent = name(rows[at]) + "\n" + said.join("\n");
      const svg = drawing.querySelector("svg");
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      const room = Math.max(chart.clientWidth - reading.offsetWidth, 0);
      const left = x[at] * scale < chart.clientWidth / 2
        ? x[at] * scale + 12 : x[at] * scale - 12 - reading.offsetWidth;
      reading.style.left = Math.min(Math.max(left, 0), room) + "px";
      reading.style.top = Math.min(y[at] * scale + 8, chart.clientHeight - reading.offsetHeight) + "px";
      reading.style.visibility = "visible";
    }

    function hide() {
      at = -1;
      reading.style.visibility = "hidden";
      marked();
    }

    chart.addEventListener("pointermove", (event) => {
      const drawing = drawn();
      const svg = drawing.querySelector("svg");
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      const y = places(drawing, "y");
      const far = places(drawing, "x").map((x, i) => (x - px) ** 2 + (y[i] - py) ** 2);
      show(far.indexOf(Math.min(...far)));
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageUp: -10, PageDown: 10 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(at + step);
    });
    input.addEventListener("input", marked);
    chart.parentElement.querySelector(".tools").hidden = false;
  }

  all(document, ".cloud").forEach(cloud);
})();
