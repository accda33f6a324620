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
      const is = chosen !== null && same(mark.dataset.series, chosen);
      mark.classList.toggle("chosen", is);
      for (const button of all("button[aria-pressed]", mark)) button.setAttribute("aria-pressed", is);
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
    if (heading && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      heading.click();
    }
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

  // Lines to paste have a button that copies them. Where a page may not use the clipboard, they are selected.
  for (const block of all(".paste")) {
    const lines = block.querySelector("pre");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(lines.textContent);
      } catch {
        getSelection().selectAllChildren(lines);
        done = document.execCommand("copy");
      }
      button.textContent = done ? "Copied" : "Selected";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }

  // A figure can be taken along: with its title and its legend, and on a light ground, also from a
  // dark page.
  const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
    "font-family", "font-size", "font-weight"];
  const [MARGIN, TITLE, LINE, KEY] = [16, 30, 22, 37];
  const made = (name, attributes, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    element.textContent = text;
    return element;
  };
  const copied = (svg) => {
    const copy = svg.cloneNode(true);
    const originals = [svg, ...all("*", svg)];
    [copy, ...all("*", copy)].forEach((element, at) => {
      const style = getComputedStyle(originals[at]);
      for (const property of PROPERTIES) {
        element.setAttribute(property, style.getPropertyValue(property));
      }
      for (const name of ["class", "data-tip", "data-series", "role", "aria-hidden"]) {
        element.removeAttribute(name);
      }
    });
    return copy;
  };
  const widthOf = (text, font) => {
    const context = document.createElement("canvas").getContext("2d");
    context.font = font;
    return context.measureText(text).width;
  };
  // The text in lines of at most this width.
  const lines = (text, font, width) => {
    const found = [""];
    for (const word of text.split(" ")) {
      const longer = (found[found.length - 1] + " " + word).trim();
      if (widthOf(longer, font) <= width) found[found.length - 1] = longer;
      else found.push(word);
    }
    return found.filter((line) => line !== "");
  };
  const drawn = (figure) => {
    // Pictures beside each other, as many as fit on a page.
    const pictures = all("svg[role=img]", figure);
    let [across, x, top, high] = [0, 0, 0, 0];
    const places = pictures.map((svg) => {
      const { width, height } = svg.viewBox.baseVal;
      if (x > 0 && x + width > 1000) [x, top, high] = [0, top + high + MARGIN, 0];
      const place = { x, y: top, width, height };
      [x, high] = [x + width + MARGIN, Math.max(high, height)];
      across = Math.max(across, place.x + width);
      return place;
    });
    const inner = Math.max(across, 430);
    const width = inner + 2 * MARGIN;
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    const family = "system-ui, sans-serif";
    const written = (x, y, size, weight, text) => made("text",
      { x, y, fill: ink, "font-family": family, "font-size": size + "px", "font-weight": weight }, text);
    const whole = made("svg", {});
    const title = figure.dataset.title || pictures[0].querySelector("title").textContent;
    whole.append(made("title", {}, title));
    const ground = made("rect", { fill: "#ffffff" });
    whole.append(ground);
    let y = MARGIN;
    for (const line of lines(title, "600 17px " + family, inner)) {
      whole.append(written(MARGIN, y + 16, 17, 600, line));
      y += TITLE;
    }
    pictures.forEach((svg, at) => {
      const picture = copied(svg);
      picture.querySelector("title").remove();
      const place = places[at];
      picture.setAttribute("x", MARGIN + place.x);
      picture.setAttribute("y", y + place.y);
      picture.setAttribute("width", place.width);
      picture.setAttribute("height", place.height);
      whole.append(picture);
    });
    y += top + high + 8;
    x = MARGIN;
    for (const entry of all(".legend li", figure)) {
      const name = entry.textContent;
      const step = KEY + widthOf(name, "14px " + family) + 18;
      if (x > MARGIN && x + step > width) [x, y] = [MARGIN, y + LINE];
      const key = copied(entry.querySelector("svg"));
      key.setAttribute("x", x);
      key.setAttribute("y", y);
      const group = made("g", { opacity: getComputedStyle(entry).opacity });
      group.append(key, written(x + KEY, y + 12, 14, 400, name));
      whole.append(group);
      x += step;
    }
    if (x > MARGIN) y += LINE;
    const size = { width: Math.ceil(width), height: Math.ceil(y + MARGIN / 2) };
    for (const name of ["width", "height"]) {
      whole.setAttribute(name, size[name]);
      ground.setAttribute(name, size[name]);
    }
    whole.setAttribute("viewBox", [0, 0, size.width, size.height].join(" "));
    return { text: new XMLSerializer().serializeToString(whole), ...size };
  };
  const standalone = (figure) => {
    const root = document.documentElement;
    root.classList.add("light");
    try {
      return drawn(figure);
    } finally {
      root.classList.remove("light");
    }
  };
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const takeSvg = (figure) => {
    const { text } = standalone(figure);
    save(new Blob([text], { type: "image/svg+xml" }), figure.dataset.name + ".svg");
  };
  const takePng = (figure) => {
    const { text, width, height } = standalone(figure);
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
