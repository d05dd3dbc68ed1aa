// Live updates, and filters and orders without a new page. Everything works without this too.
"use strict";

(() => {
  const AGAIN_MS = 5000; // a page is asked for anew at most this often
  const TYPING_MS = 200;
  const LOST_MS = 4000; // a stream ends now and then; one that does not come back is lost
  let stream = null;
  let listening = ""; // whose stream it is
  let mark = ""; // what the server calls the content that is shown
  let asked = Date.now();
  let waiting = 0;
  let request = null;
  let losing = 0;
  let lost = false; // what is shown does not follow by itself
  const NOT_LIVE = ", not live";

  const kind = () => document.body.dataset.live || "";
  const shown = () => location.pathname + location.search; // a part of the same page is no other page
  let last = shown();

  // -- local times ---------------------------------------------------------------------------

  // The reader's time beside one in UTC, with its day where that is another; none where it is UTC.
  function besides(iso, before) {
    const time = new Date(iso);
    if (isNaN(time) || !time.getTimezoneOffset()) return "";
    const two = (number) => String(number).padStart(2, "0");
    const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
    const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
    return `${before}${iso.startsWith(day) ? "" : `${day} `}${clock} local`;
  }

  function localize(root) {
    for (const each of root.querySelectorAll("time[datetime]")) {
      const told = besides(each.dateTime, "");
      if (!told) continue;
      const local = document.createElement("small");
      local.className = "local";
      local.textContent = told;
      each.append(" ", local);
    }
  }

  function say(time) {
    const place = document.getElementById("asof");
    const told = time ? time + besides(time.replace(" UTC", "Z").replace(" ", "T"), ", ") : place.textContent.replace(NOT_LIVE, "");
    place.textContent = lost ? told + NOT_LIVE : told;
    place.classList.toggle("lost", lost);
  }

  function sayLost() {
    lost = true;
    say("");
  }

  // -- the fleet's lines -----------------------------------------------------------------------

  function element(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  }

  // What stands where the focus was: the same link, or the same of its kind in order.
  function counterpart(active, old, fresh) {
    if (active === old) return fresh;
    const address = active.getAttribute("href");
    const alike = (root) => [...root.querySelectorAll(active.localName)].filter((each) => each.getAttribute("href") === address);
    return alike(fresh)[alike(old).indexOf(active)];
  }

  // Replaces a part of the page; what had the focus has it again.
  function replaceKeepingFocus(old, fresh) {
    const active = document.activeElement;
    const again = active && old.contains(active) ? counterpart(active, old, fresh) : null;
    old.replaceWith(fresh);
    if (again) again.focus({ preventScroll: true });
  }

  function applyFleet(change) {
    lost = false;
    say(change.time);
    const fleet = document.getElementById("fleet");
    if (fleet && change.warnings && change.warnings !== fleet.dataset.warnings) reloadSoon();
    const body = document.getElementById("rows");
    const rows = new Map();
    for (const row of body ? body.rows : []) rows.set(row.dataset.key, row);
    if (change.order && Boolean(body) !== change.order.length > 0) {
      reload(location.href, false);
      return;
    }
    if (!body) return;
    for (const [key, html] of Object.entries(change.rows)) {
      const fresh = element(html);
      const old = rows.get(key);
      if (old) { if (old.outerHTML !== fresh.outerHTML) replaceKeepingFocus(old, fresh); else continue; }
      rows.set(key, fresh);
    }
    if (change.order) {
      const kept = new Set(change.order);
      for (const [key, row] of rows) if (!kept.has(key)) row.remove();
      change.order.forEach((key, at) => {
        const row = rows.get(key);
        if (row && body.rows[at] !== row) body.insertBefore(row, body.rows[at] || null);
      });
    }
    body.dataset.mark = change.mark;
    const summary = document.getElementById("summary");
    if (summary.innerHTML !== change.summary) {
      const fresh = summary.cloneNode(false);
      fresh.innerHTML = change.summary;
      replaceKeepingFocus(summary, fresh);
    }
    document.title = change.title;
  }

  // -- whole pages -----------------------------------------------------------------------------

  function take(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const open = [...document.querySelectorAll("details[open]")].map((each) => each.id);
    const old = document.getElementById("main");
    const main = document.adoptNode(fresh.getElementById("main"));
    for (const id of open) { const each = main.querySelector(`#${CSS.escape(id)}`); if (each) each.open = true; }
    localize(main);
    const field = keptField(old, main);
    replaceKeepingFocus(old, main);
    if (field) field.focus({ preventScroll: true });
    document.title = fresh.title;
    document.body.dataset.live = fresh.body.dataset.live || "";
    if (!kind()) lost = false; // such a page never follows
    say(fresh.getElementById("asof").textContent);
    last = shown();
  }

  // The field that is being typed in stays as it is.
  function keptField(old, main) {
    const field = document.activeElement;
    if (!field || !field.name || !old.contains(field)) return null;
    const fresh = main.querySelector(`[name="${CSS.escape(field.name)}"]`);
    if (!fresh) return null;
    fresh.replaceWith(field);
    return field;
  }

  async function reload(address, noted) {
    if (request) request.abort();
    request = new AbortController();
    try {
      const headers = mark && address === location.href ? { "If-None-Match": mark } : {};
      const answer = await fetch(address, { headers, signal: request.signal });
      if (answer.status === 304) return;
      if (!answer.ok) { if (noted) location.assign(address); else sayLost(); return; }
      const text = await answer.text();
      mark = answer.headers.get("ETag") || "";
      if (noted) history.pushState(null, "", address);
      take(text);
      listen();
    } catch (error) {
      if (error.name !== "AbortError") sayLost();
    }
  }

  function applyPublished(change) {
    lost = false;
    say(change.time);
    reloadSoon();
  }

  function reloadSoon() {
    const now = Date.now();
    clearTimeout(waiting);
    waiting = setTimeout(() => { asked = Date.now(); reload(location.href, false); }, Math.max(0, asked + AGAIN_MS - now));
  }

  // -- the stream ------------------------------------------------------------------------------

  function listen() {
    const wanted = kind() === "fleet" ? `/live/fleet${location.search}` : "/live/page";
    const address = kind() && !document.hidden ? document.body.dataset.root + wanted : "";
    if (stream && listening === address && stream.readyState === EventSource.OPEN) return;
    if (stream) stream.close();
    stream = null;
    listening = address;
    if (!address) return;
    const rows = document.getElementById("rows");
    const seen = rows ? `${address.includes("?") ? "&" : "?"}seen=${rows.dataset.mark}` : "";
    stream = new EventSource(address + seen);
    stream.addEventListener("fleet", (event) => applyFleet(JSON.parse(event.data)));
    stream.addEventListener("published", (event) => applyPublished(JSON.parse(event.data)));
    const mine = stream;
    stream.onopen = () => { clearTimeout(losing); losing = 0; lost = false; say(""); };
    // A new stream is told what is shown by now, which the browser's own repetition is not.
    stream.onerror = () => {
      mine.close();
      if (mine !== stream) return;
      stream = null;
      // Without a stream the page is still asked for now and then, and says that it does not follow.
      if (!losing) losing = setTimeout(() => { losing = 0; sayLost(); reload(location.href, false); }, LOST_MS);
      setTimeout(() => { if (!stream) listen(); }, AGAIN_MS / 5);
    };
  }

  // A hidden page does not listen: a browser has few connections to one host.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) listen();
    else if (kind()) reload(location.href, false).then(listen);
  });

  // -- filters and orders ----------------------------------------------------------------------

  function addressOf(form) {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) query.append(name, value);
    const told = query.toString();
    return new URL(form.getAttribute("action") + (told ? `?${told}` : ""), location.href).href;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-sort]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    reload(link.href, true);
  });
  document.addEventListener("submit", (event) => {
    event.preventDefault();
    reload(addressOf(event.target), true);
  });
  let typing = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.filter");
    if (!form || event.target.type === "text") return;
    clearTimeout(typing);
    typing = setTimeout(() => reload(addressOf(form), true), event.target.type === "search" ? TYPING_MS : 0);
  });
  addEventListener("popstate", () => { if (shown() !== last) reload(location.href, false); });

  localize(document.getElementById("main"));
  say(document.getElementById("asof").textContent);
  requestAnimationFrame(() => setTimeout(listen)); // what is there is painted first
})();
