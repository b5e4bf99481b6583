// The browser client: connects the page to a room.

import { Composer } from "./composer.js";
import { h } from "./markdown.js";
import { Agents, Questions, drawPeople } from "./panels.js";
import { Room } from "./room.js";
import { parseCode, splitLink } from "./sealing.js";
import { Session, list, messageOf, object, textOf } from "./session.js";
import { applyTheme, remembered } from "./theme.js";
import { Transcript } from "./transcript.js";

const $ = (id) => document.getElementById(id);
let page = null;

applyTheme($("theme"));
addEventListener("hashchange", begin);
$("connect-form").addEventListener("submit", (event) => {
  event.preventDefault();
  join($("link").value);
});
$("leave").addEventListener("click", () => {
  page?.close();
  history.replaceState(null, "", location.pathname);
  showConnect("");
});
for (const name of ["people", "agents"]) {
  const button = $(`${name}-button`), panel = $(name);
  button.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden && name === "agents") page?.agents.draw();
  });
}
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const name of ["people", "agents"]) {
    if (!$(name).hidden) $(`${name}-button`).click();
  }
});
// The address of this page is a secret: the jump must not write to it.
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("transcript").focus();
});

function begin() {
  page?.close();
  page = null;
  const code = location.hash.slice(1);
  if (code) open(code);
  else showConnect("");
}

function showConnect(problem) {
  page = null;
  document.title = "pi";
  $("session").hidden = true;
  $("connect").hidden = false;
  $("connect-error").textContent = problem;
  $("connect-error").hidden = !problem;
  $("name").value = remembered("name");
  $("link").focus();
}

function join(text) {
  const { relay, code } = splitLink(text);
  const here = location.host + location.pathname.replace(/\/+$/, "");
  remembered("name", $("name").value.trim());
  if (relay && relay !== here && relay !== location.host) {
    showConnect(`The session is at another relay. Open https://${relay}/ and use the link there.`);
    return;
  }
  const hash = `#${code}`;
  if (location.hash === hash) open(code);
  else location.hash = hash;
}

function open(code) {
  let keys;
  try {
    keys = parseCode(code);
  } catch (error) {
    showConnect(error.message);
    return;
  }
  if (!globalThis.crypto?.subtle) {
    showConnect("This page needs https, or an address of this machine: browsers do not encrypt elsewhere.");
    return;
  }
  $("connect").hidden = true;
  $("session").hidden = false;
  page = new Page(keys);
}

class Page {
  constructor(keys) {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const base = location.pathname.replace(/\/+$/, "");
    const url = `${scheme}//${location.host}${base}/r/${keys.id}?role=guest`;
    this.session = new Session();
    this.room = new Room(keys, remembered("name") || "guest", url, {
      snapshot: (snapshot) => this.snapshot(snapshot),
      frame: (frame) => this.frame(frame),
      status: (kind, text) => this.status(kind, text),
      joining: () => this.questions.asked.clear(),
      progress: (done, all) => this.status("loading", `Loading ${Math.round((100 * done) / all)} %`),
    });
    const send = (frame) => this.room.write(frame);
    this.transcript = new Transcript($("transcript"), $("scroll"), this.session);
    $("transcript").replaceChildren();
    this.transcript.onFollow = (follows) => ($("to-end").hidden = follows);
    $("to-end").onclick = () => this.transcript.toEnd();
    this.questions = new Questions($("questions"), send);
    this.agents = new Agents($("agents"), $("agents-button"), send, this.room.canWrite);
    $("questions").replaceChildren();
    // A viewer gets no control that could write; the host would refuse it as well.
    this.composer = this.room.canWrite ? new Composer($("foot"), send) : null;
    this.agents.onError = (message) => this.composer?.fail(message);
    if (!this.composer) $("foot").replaceChildren(h("p", { class: "read-only" }, "View only: this link cannot write."));
    this.room.start();
  }

  close() {
    this.room.stop();
  }

  async snapshot(snapshot) {
    const before = this.session.branch.length, wasSame = this.session.id === snapshot.session;
    const last = this.session.leafId;
    await this.session.load(snapshot);
    const isUnchanged = wasSame && snapshot.lines.length === 0 && last === this.session.leafId && before;
    if (isUnchanged) {
      for (const id of this.transcript.cards.keys()) this.transcript.card(id);
      this.transcript.partial();
    } else this.transcript.rebuild();
    this.#note();
    if (this.composer) {
      const requests = list(snapshot.about.requests).map(object);
      for (const request of requests) this.questions.show(request);
      this.questions.tidy();
      for (const entry of this.session.branch.slice(-50)) this.#settle(entry);
    }
    this.agents.show(this.session.agents);
    this.drawState();
    performance.mark("pi-open");
  }

  #note() {
    this.room.have = this.session.have;
  }

  #settle(entry) {
    const message = messageOf(entry);
    if (message?.role === "user") this.composer?.arrived(textOf(message.content));
  }

  frame(frame) {
    const { session, transcript } = this;
    switch (frame.t) {
      case "entry": {
        const entry = object(frame.entry), change = session.add(entry);
        if (messageOf(entry)?.role === "assistant") session.partial = null;
        if (change === "next") transcript.append(entry);
        else if (change === "moved") transcript.rebuild();
        if (change !== "old") this.#note();
        this.#settle(entry);
        break;
      }
      case "leaf":
        if (session.move(frame.leafId)) transcript.rebuild();
        break;
      case "event":
        this.event(object(frame.event));
        break;
      case "state":
        session.setState(frame.state);
        this.drawState();
        break;
      case "agents":
        session.agents = list(frame.agents).map(object);
        this.agents.show(session.agents);
        break;
      case "ui-request":
        if (this.composer) this.questions.show(frame);
        break;
      case "ui-request-end":
        this.questions.end(String(frame.id));
        break;
      case "accepted":
        this.composer?.accepted(frame.re);
        break;
      case "transcript":
        this.agents.transcript(frame);
        break;
      case "error": {
        const message = String(frame.message ?? frame.code);
        if (!this.questions.refused(frame.re, frame.code, message)) this.composer?.refused(frame.re, message);
        break;
      }
    }
  }

  event(event) {
    const { session, transcript } = this;
    switch (event.type) {
      case "agent_start":
      case "agent_settled":
        session.isActive = event.type === "agent_start";
        if (!session.isActive) {
          session.partial = null;
          session.running.clear();
          transcript.partial();
        }
        this.drawState();
        break;
      case "message_start":
        if (object(event.message).role === "assistant") {
          session.partial = { ...event.message, content: list(event.message.content).map((each) => ({ ...each })) };
          transcript.partial();
        }
        break;
      case "message_update":
        session.grow(object(event.assistantMessageEvent));
        transcript.partial();
        break;
      case "message_end":
        if (object(event.message).role === "assistant") {
          session.partial = null;
          transcript.partial();
          const text = textOf(event.message.content);
          if (text) $("announce").textContent = `pi: ${text.slice(0, 300)}`;
        }
        break;
      case "tool_execution_start":
      case "tool_execution_update":
      case "tool_execution_end":
        transcript.card(session.toolEvent(event));
        break;
    }
  }

  status(kind, text) {
    const bar = $("status");
    bar.dataset.kind = kind;
    if ($("status-text").textContent !== text) $("status-text").textContent = text;
    this.composer?.enabled(kind === "live");
    if (kind !== "live") $("activity").hidden = true; // nothing is known: not idle, not working
    else this.drawState();
    if (kind === "ended") {
      this.questions.asked.clear();
      this.questions.tidy();
      this.session.partial = null;
      this.transcript.partial();
    }
  }

  drawState() {
    const { session } = this, state = object(session.state), inner = object(state.state);
    const folder = String(state.cwd ?? session.header.cwd ?? "").split(/[\\/]/).filter(Boolean).at(-1);
    const title = session.name || folder || "pi";
    $("title").textContent = title;
    $("title").title = String(state.cwd ?? "");
    document.title = `${title} – pi`;
    const facts = [object(inner.model).name ?? object(inner.model).id];
    const percent = object(state.usage).percent;
    if (typeof percent === "number") facts.push(`${percent.toFixed(percent < 10 ? 1 : 0)} % context`);
    if (typeof state.cost === "number" && state.cost > 0) facts.push(`$${state.cost.toFixed(state.cost < 1 ? 3 : 2)}`);
    $("facts").textContent = facts.filter(Boolean).join(" · ");
    const people = list(state.participants);
    $("people-button").textContent = people.length > 1 ? `People (${people.length})` : "People";
    drawPeople($("people"), people);
    const isLive = $("status").dataset.kind === "live";
    $("activity").hidden = !(session.isActive && isLive);
    this.composer?.active(session.isActive);
    if (this.transcript.follows && session.isActive) this.transcript.toEnd();
  }
}

begin();
