// Questions of the host, its sub-agents, and the people in the session.

import { h, markdown } from "./markdown.js";
import { list, object } from "./session.js";

/** Open questions. A question that is sent again keeps its form, and what was typed there. */
export class Questions {
  constructor(root, send) {
    this.root = root;
    this.send = send;
    this.forms = new Map();
    this.asked = new Set(); // since we said hello: the host sends what is open after each one
  }

  show(request) {
    const id = String(request.id);
    this.asked.add(id);
    if (this.forms.has(id)) return;
    const form = this.#form(request, id);
    this.forms.set(id, form);
    this.root.append(form);
    if (!document.activeElement || document.activeElement === document.body) {
      form.querySelector("input, textarea, button")?.focus();
    }
  }

  end(id) {
    this.forms.get(id)?.remove();
    this.forms.delete(id);
  }

  /** Closes what the host does not ask any more. */
  tidy() {
    for (const id of [...this.forms.keys()]) if (!this.asked.has(id)) this.end(id);
  }

  refused(id, code, message) {
    const form = this.forms.get(id);
    if (!form) return false;
    if (code === "gone") this.end(id);
    else {
      const error = form.querySelector(".failed");
      error.textContent = message;
      error.hidden = false;
      for (const each of form.elements) each.disabled = false;
    }
    return true;
  }

  #answer(id, value) {
    const form = this.forms.get(id);
    try {
      this.send({ t: "ui-response", id, value });
      for (const each of form.elements) each.disabled = true;
    } catch (error) {
      this.refused(id, "", error.message);
    }
  }

  #form(request, id) {
    const title = h("h2", { id: `question-${id}` }, String(request.title || "A question"));
    const message = request.message ? h("div", { class: "words" }, ...markdown(String(request.message))) : null;
    const error = h("p", { class: "failed", role: "alert", hidden: true });
    const form = h("form", { class: "question", "aria-labelledby": title.id }, title, message);
    const cancel = h("button", { type: "button", onclick: () => this.#answer(id, null) }, "Cancel");
    const options = list(request.options).map(object);
    const initial = new Set(list(request.initial));
    let value;
    if (request.kind === "confirm") {
      cancel.textContent = "No";
      form.append(error, h("div", { class: "buttons" }, cancel, h("button", { type: "submit", class: "primary" }, "Yes")));
      value = () => true;
    } else if (request.kind === "select") {
      const type = request.multi ? "checkbox" : "radio";
      const rows = options.map((option, at) => h("label", { class: "option" },
        h("input", { type, name: `options-${id}`, value: String(at), checked: initial.has(option.label) || initial.has(at) || (!request.multi && at === 0 && !initial.size) }),
        h("span", {}, String(option.label), option.description ? h("small", {}, ` ${option.description}`) : null)));
      form.append(h("fieldset", { "aria-labelledby": title.id }, ...rows), error,
        h("div", { class: "buttons" }, cancel, h("button", { type: "submit", class: "primary" }, "Choose")));
      value = () => {
        const chosen = [...form.querySelectorAll("fieldset input:checked")].map((each) => options[Number(each.value)].label);
        return request.multi ? chosen : chosen[0];
      };
    } else {
      const field = request.kind === "editor" ? h("textarea", { rows: "6" }) : h("input", { type: "text", autocomplete: "off" });
      field.setAttribute("aria-labelledby", title.id);
      if (request.placeholder) field.placeholder = String(request.placeholder);
      field.value = String(request.prefill ?? "");
      form.append(field, error, h("div", { class: "buttons" }, cancel, h("button", { type: "submit", class: "primary" }, "Answer")));
      value = () => field.value;
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = value();
      if (answer !== undefined) this.#answer(id, answer);
    });
    return form;
  }
}

/** Sub-agents: what they do, their transcripts, and messages to them. */
export class Agents {
  constructor(root, button, send, canWrite) {
    this.root = root;
    this.button = button;
    this.send = send;
    this.canWrite = canWrite;
    this.drafts = new Map();
    this.reading = null; // {agent, request, text}
  }

  show(agents) {
    this.agents = agents;
    this.button.hidden = agents.length === 0;
    const busy = agents.filter((each) => /run|work|active/i.test(String(each.status))).length;
    this.button.textContent = `Agents (${busy || agents.length})`;
    this.button.title = `${agents.length} sub-agents, ${busy} working`;
    if (!this.root.hidden) this.draw();
  }

  draw() {
    const focused = document.activeElement?.dataset?.agent;
    const rows = (this.agents ?? []).map((agent) => this.#row(agent));
    const transcript = this.#transcript();
    this.root.replaceChildren(h("h2", {}, "Sub-agents"), h("ul", {}, ...rows), ...(transcript ? [transcript] : []));
    if (focused) [...this.root.querySelectorAll("input")].find((each) => each.dataset.agent === focused)?.focus();
  }

  #row(agent) {
    const id = String(agent.id), name = String(agent.name || id);
    const head = h("div", {}, h("b", {}, name), " ", h("span", { class: "badge" }, String(agent.status ?? "")));
    const row = h("li", {}, head, h("p", {}, String(agent.task ?? "")));
    if (!this.canWrite) return row; // transcripts of sub-agents need the write right, too
    const act = (action, text) => this.#try({ t: "agent-cmd", agent: id, action, text });
    const input = h("input", { type: "text", "aria-label": `Message to ${name}`, placeholder: "Message", "data-agent": id });
    input.value = this.drafts.get(id) ?? "";
    input.addEventListener("input", () => this.drafts.set(id, input.value));
    const chat = h("form", { onsubmit: (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      act("chat", input.value);
      this.drafts.delete(id);
      input.value = "";
    } }, input, h("button", { type: "submit" }, "Send"));
    row.append(chat, h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => this.#read(id) }, "Transcript"),
      h("button", { type: "button", onclick: () => act("kill") }, "Stop"),
      h("button", { type: "button", onclick: () => act("revive") }, "Start again")));
    return row;
  }

  #transcript() {
    if (!this.reading) return null;
    return h("section", { "aria-label": "Transcript of a sub-agent" }, h("pre", { class: "output", tabindex: "0" }, this.reading.text || "Loading…"));
  }

  #read(agent) {
    this.reading = { agent, text: "", request: this.#try({ t: "fetch-transcript", agent, offset: 0 }) };
    this.draw();
  }

  #try(frame) {
    try {
      return this.send(frame);
    } catch (error) {
      this.onError?.(error.message);
      return "";
    }
  }

  transcript(frame) {
    if (!this.reading || frame.re !== this.reading.request) return;
    this.reading.text = (this.reading.text + String(frame.text ?? "")).slice(-1000000);
    if (Number.isInteger(frame.next)) {
      this.reading.request = this.#try({ t: "fetch-transcript", agent: this.reading.agent, offset: frame.next });
    }
    this.draw();
  }
}

export function drawPeople(root, participants) {
  const rows = list(participants).map(object).map((each) =>
    h("li", {}, h("b", {}, String(each.name)), " ", h("span", { class: "badge" }, ROLES[each.role] ?? "guest")));
  root.replaceChildren(h("h2", {}, "People"), h("ul", {}, ...rows));
}

const ROLES = { host: "host", full: "can write", view: "view only" };
