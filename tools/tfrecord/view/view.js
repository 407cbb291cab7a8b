// Shows the records, which the page contains as JSON, one page at a time. Text from the data goes
// into the document only as text.
"use strict";
(() => {
  const records = JSON.parse(document.getElementById("data").textContent);
  const files = JSON.parse(document.getElementById("files").textContent);
  const byId = (id) => document.getElementById(id);
  const hasEpisodes = records.some((record) => record.episode);
  const hasImages = records.some((record) => record.image);
  const isLarge = records.some((record) => record.image && record.image.width > 128);
  const perPage = hasEpisodes ? 10 : hasImages ? 120 : 50;
  const collator = new Intl.Collator(undefined, { numeric: true });

  let shown = records; // the records with the chosen label
  let page = 0;
  let open = -1; // index in `shown`

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  // The names of the files without their folders, unless they are the same.
  const fileNames = (() => {
    const names = files.map((file) => file.slice(file.lastIndexOf("/") + 1));
    return new Set(names).size === files.length ? names : files;
  })();
  const ofFile = (record, names) => (files.length > 1 ? " of " + names[record.file || 0] : "");
  const nameOf = (record) => "record " + record.record + ofFile(record, files);
  const titleOf = (record) => nameOf(record) + (record.label ? ": " + record.label : "");
  const numberOf = (record) => "#" + record.record + ofFile(record, fileNames);

  const picture = (record) => imageOf(record.image, titleOf(record));
  const imageOf = (image, alt) => {
    if (!image) return make("span", { textContent: "no image" });
    if (image.problem) return make("span", { textContent: image.problem });
    const element = make("img", {
      alt,
      className: image.width && image.width <= 128 ? "pixels" : "",
      src: "data:" + image.type + ";base64," + image.data,
    });
    element.addEventListener("error", () => {
      element.replaceWith(make("span", { textContent: "damaged image" }));
    });
    return element;
  };

  const card = (record, index) => {
    const caption = make("span", { className: "caption" },
      ...(record.label ? [make("b", { textContent: record.label, title: record.label })] : []),
      make("span", { textContent: numberOf(record), title: nameOf(record) }));
    const button = make("button", { type: "button", className: "card" },
      make("span", { className: "picture" }, picture(record)), caption);
    button.addEventListener("click", () => show(index));
    return button;
  };

  const filmStrip = ([name, frames]) => make("figure", { className: "strip" },
    make("figcaption", { textContent: name }),
    make("div", { className: "frames" }, ...frames.map(([step, image]) =>
      make("div", {}, imageOf(image, `${name}, step ${step}`), make("span", { textContent: step })))));

  const svg = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const plot = ({ name, dimensions, min, max, lines }) => {
    const range = min === max ? min : `${min} to ${max}`;
    const more = lines.length < dimensions ? `; ${lines.length} of ${dimensions} dimensions` : "";
    return make("figure", { className: "plot" },
      make("figcaption", { textContent: `${name}: ${range}${more}` }),
      svg("svg", { viewBox: "0 0 300 60", preserveAspectRatio: "none", role: "img",
                   "aria-label": `${name} over the steps: ${range}` },
        ...lines.map((d, i) => svg("path", { d, class: "line" + (i % 6) },
          svg("title", {}, dimensions > 1 ? `${name}[${i}]` : name)))));
  };
  const stepsOf = ({ steps }) => steps.toLocaleString("en") + (steps === 1 ? " step" : " steps");
  const episode = ({ strips, plots }) =>
    [...strips.map(filmStrip), make("div", { className: "plots" }, ...plots.map(plot))];

  const episodeCard = (record, index) => {
    const button = make("button", { type: "button", textContent: numberOf(record), title: nameOf(record) });
    button.addEventListener("click", () => show(index));
    const facts = [...(record.episode ? [stepsOf(record.episode)] : []), ...(record.label ? [record.label] : [])];
    const hasStrips = record.episode && record.episode.strips.length > 0;
    return make("article", { className: "feature" },
      make("h3", {}, button, " " + facts.join(", ")),
      ...(record.image && !hasStrips ? [make("span", { className: "picture" }, picture(record))] : []),
      ...(record.episode ? episode(record.episode) : []));
  };

  // The features that most records have, as columns; and the number of all features, shown or not.
  // (A card that has no room for all of its features has a last row with the name ….)
  const mostColumns = 12;
  const [columns, featureCount] = (() => {
    const counts = new Map();
    for (const record of records) {
      for (const [name, kind] of record.features || []) {
        if (name !== "…" || kind) counts.set(name, (counts.get(name) || 0) + 1);
      }
    }
    const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    const all = Math.max(names.length, Number(byId("sheet").dataset.features));
    return [names.slice(0, mostColumns), all];
  })();

  const row = (record, index) => {
    const button = make("button", { type: "button", textContent: record.record });
    button.setAttribute("aria-label", "show " + nameOf(record));
    button.addEventListener("click", () => show(index));
    const cells = [make("td", {}, button)];
    if (files.length > 1) cells.push(make("td", { textContent: fileNames[record.file || 0], title: files[record.file || 0] }));
    const values = new Map((record.features || []).map(([name, , text]) => [name, text]));
    for (const name of columns) cells.push(make("td", { textContent: values.get(name) ?? "" }));
    if (!columns.length) {
      cells.push(make("td", { textContent: record.kind }), make("td", { textContent: record.content || "" }));
    }
    return make("tr", {}, ...cells);
  };

  const table = (items) => {
    const names = columns.length ? columns : ["kind", "content"];
    const head = ["record", ...(files.length > 1 ? ["file"] : []), ...names].map((name) => make("th", { scope: "col", textContent: name }));
    const more = columns.length ? featureCount - columns.length : 0;
    const caption = more > 0
      ? [make("caption", { textContent:
          `${columns.length} of ${featureCount.toLocaleString("en")} features; a record's number shows more of them.` })]
      : [];
    return make("table", {}, ...caption, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...items));
  };

  const draw = () => {
    const first = page * perPage;
    const some = shown.slice(first, first + perPage);
    const sheet = byId("sheet");
    if (hasEpisodes) {
      sheet.className = "episodes";
      sheet.replaceChildren(...some.map((record, i) => episodeCard(record, first + i)));
    } else if (hasImages) {
      sheet.className = isLarge ? "grid large" : "grid";
      sheet.replaceChildren(...some.map((record, i) => card(record, first + i)));
    } else {
      sheet.className = "scroll";
      sheet.replaceChildren(table(some.map((record, i) => row(record, first + i))));
    }
    byId("place").textContent = shown.length
      ? `${(first + 1).toLocaleString("en")}–${(first + some.length).toLocaleString("en")} of ${shown.length.toLocaleString("en")}`
      : "no records";
    byId("previous").disabled = page === 0;
    byId("next").disabled = first + perPage >= shown.length;
  };

  const turn = (by) => {
    page += by;
    draw();
    byId("records").scrollIntoView();
  };

  const show = (index) => {
    open = index;
    const record = shown[index];
    byId("detail-title").textContent = titleOf(record).replace(/^r/, "R");
    const rows = (record.features || [["content", "", record.content || ""]]).map((cells) =>
      make("tr", {}, ...cells.map((text) => make("td", { textContent: text }))));
    byId("detail-body").replaceChildren(
      ...(record.image ? [picture(record)] : []),
      ...(record.episode ? episode(record.episode) : []),
      make("p", { className: "note", textContent:
        `${record.kind}, ${record.bytes.toLocaleString("en")} bytes at offset ${record.offset.toLocaleString("en")}` +
        (record.episode ? `; ${stepsOf(record.episode)}` : "") +
        (record.image && record.image.width ? `; image of ${record.image.width} x ${record.image.height}` : "") }),
      make("table", {}, make("tbody", {}, ...rows)));
    byId("detail-previous").disabled = index === 0;
    byId("detail-next").disabled = index + 1 >= shown.length;
    if (!byId("detail").open) byId("detail").showModal();
    // A disabled button that has the focus would swallow the arrow keys.
    if (document.activeElement.disabled) byId("detail-close").focus();
  };
  const step = (by) => {
    if (open + by >= 0 && open + by < shown.length) show(open + by);
  };

  const labels = [...new Set(records.map((record) => record.label))].filter((label) => label !== undefined);
  if (labels.length > 1 && labels.length <= 1000) {
    labels.sort(collator.compare);
    const filter = byId("filter");
    filter.append(...labels.map((label) => make("option", { value: label, textContent: label })));
    filter.addEventListener("change", () => {
      shown = filter.selectedIndex ? records.filter((record) => record.label === filter.value) : records;
      page = 0;
      draw();
    });
    byId("filter-label").hidden = false;
  }
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("detail-previous").addEventListener("click", () => step(-1));
  byId("detail-next").addEventListener("click", () => step(1));
  byId("detail-close").addEventListener("click", () => byId("detail").close());
  byId("detail").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  byId("toolbar").hidden = false;
  draw();
})();
