"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // What is pointed at says what it is.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const { offsetWidth: width, offsetHeight: height } = tip;
    const left = Math.min(event.clientX + 14, innerWidth - width - 8);
    const above = event.clientY - height - 12;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (above > 4 ? above : event.clientY + 18) + "px";
  });

  // A click on a strategy follows it through all figures; a second click lets it go.
  const kind = (name) => name.split(":")[0];
  const same = (name, chosen) => name === chosen || name === kind(chosen) || kind(name) === chosen;
  let chosen = null;
  const follow = (name) => {
    chosen = name === chosen ? null : name;
    document.body.classList.toggle("following", chosen !== null);
    for (const mark of all(".series")) {
      mark.classList.toggle("chosen", chosen !== null && same(mark.dataset.series, chosen));
    }
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest(".tools")) return;
    const mark = event.target.closest("[data-series]");
    if (mark) follow(mark.dataset.series);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen !== null) follow(chosen);
    const heading = event.target.closest && event.target.closest("th[data-sort]");
    if (heading && event.key === "Enter") heading.click();
  });

  // A click on a heading sorts by it; a second click turns the order round.
  for (const heading of all("th[data-sort]")) {
    heading.tabIndex = 0;
    heading.addEventListener("click", () => {
      const table = heading.closest("table");
      const column = [...heading.parentNode.children].indexOf(heading);
      const up = heading.getAttribute("aria-sort") !== "ascending";
      all("th[data-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.children[column];
        if (heading.dataset.sort === "text") return cell.textContent;
        return cell.dataset.value === "" ? Infinity : Number(cell.dataset.value);
      };
      const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      const rows = all("tbody tr", table).map((row) => [value(row), row]);
      rows.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  }

  // A figure can be taken along: with the colours that it has on the page.
  const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
    "font-family", "font-size", "font-weight"];
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const originals = [svg, ...all("*", svg)];
    [copy, ...all("*", copy)].forEach((element, at) => {
      const style = getComputedStyle(originals[at]);
      for (const property of PROPERTIES) {
        element.setAttribute(property, style.getPropertyValue(property));
      }
      for (const name of ["class", "data-tip", "data-series"]) element.removeAttribute(name);
    });
    const { width, height } = svg.viewBox.baseVal;
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ground.setAttribute("width", width);
    ground.setAttribute("height", height);
    ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.prepend(ground);
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  };
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const takeSvg = (figure) => {
    const { text } = standalone(figure.querySelector("svg"));
    save(new Blob([text], { type: "image/svg+xml" }), figure.dataset.name + ".svg");
  };
  const takePng = (figure) => {
    const { text, width, height } = standalone(figure.querySelector("svg"));
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, figure.dataset.name + ".png"), "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  };
  for (const figure of all("figure")) {
    const tools = document.createElement("div");
    tools.className = "tools";
    for (const [label, take] of [["SVG", takeSvg], ["PNG", takePng]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.title = "Save this figure as " + label;
      button.addEventListener("click", () => take(figure));
      tools.append(button);
    }
    figure.append(tools);
  }
})();
