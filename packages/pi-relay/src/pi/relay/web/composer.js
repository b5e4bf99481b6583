// Writing: prompts with pictures, steering, follow-ups, and the button that stops pi.

import { h } from "./markdown.js";

const MAX_SIDE = 1568;

export class Composer {
  /** `send(frame)` returns the id of the frame, or raises an error for the user. */
  constructor(root, send) {
    this.send = send;
    this.pictures = [];
    this.pending = new Map(); // id → {text, element}
    this.isActive = false;
    this.text = h("textarea", {
      id: "prompt", rows: "1", "aria-label": "Prompt", placeholder: "Message pi", enterkeyhint: "send",
    });
    this.file = h("input", { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp", multiple: true, hidden: true, "aria-label": "Pictures" });
    this.attach = h("button", { type: "button", "aria-label": "Add a picture", title: "Add a picture", onclick: () => this.file.click() }, "+");
    this.stop = h("button", { type: "button", id: "stop", hidden: true, onclick: () => this.abort() }, "Stop");
    this.later = h("button", { type: "button", id: "later", hidden: true, title: "Send when pi has finished (Alt+Enter)", onclick: () => this.submit("followUp") }, "Later");
    this.go = h("button", { type: "submit", id: "send", class: "primary" }, "Send");
    this.shown = h("div", { class: "pictures" });
    this.queue = h("ul", { class: "queue", "aria-label": "Prompts that wait" });
    this.error = h("p", { class: "failed", role: "alert", hidden: true });
    const form = h("form", { class: "composer", "aria-label": "Write to pi" },
      this.text, h("div", { class: "buttons" }, this.attach, this.file, h("span", { class: "space" }), this.stop, this.later, this.go));
    root.replaceChildren(this.queue, this.error, this.shown, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit("steer");
    });
    this.text.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("input", () => this.#fit());
    this.text.addEventListener("paste", (event) => this.#take(event.clipboardData?.files, event));
    this.file.addEventListener("change", () => this.#take(this.file.files));
  }

  #key(event) {
    // Enter that ends the composition of a word belongs to the input method; Safari sends it
    // after the composition has ended, with this key code.
    if (event.isComposing || event.keyCode === 229) return;
    const isPhone = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && !isPhone) {
      event.preventDefault();
      this.submit(event.altKey ? "followUp" : "steer");
    } else if (event.key === "Escape" && this.isActive) {
      event.preventDefault();
      this.abort();
    }
  }

  #fit() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  async #take(files, event) {
    const found = [...(files ?? [])].filter((each) => each.type.startsWith("image/"));
    if (!found.length) return;
    event?.preventDefault();
    for (const file of found) {
      try {
        this.pictures.push(await shrunk(file));
      } catch {
        this.fail(`${file.name} is not a picture that this browser can read.`);
      }
    }
    this.file.value = "";
    this.#showPictures();
  }

  #showPictures() {
    this.shown.replaceChildren(...this.pictures.map((each, at) =>
      h("button", { type: "button", "aria-label": `Remove picture ${at + 1}`, title: "Remove", onclick: () => {
        this.pictures.splice(at, 1);
        this.#showPictures();
      } }, h("img", { src: `data:${each.mimeType};base64,${each.data}`, alt: "" }))));
  }

  submit(streaming) {
    const text = this.text.value.trim(), images = this.pictures;
    if (!text && !images.length) return;
    const frame = { t: "prompt", text };
    if (images.length) frame.images = images;
    if (this.isActive) frame.streaming = streaming;
    let id;
    try {
      id = this.send(frame);
    } catch (error) {
      this.fail(error.message);
      return;
    }
    this.error.hidden = true;
    const element = h("li", {}, h("span", {}, "sending"), ` ${text || "picture"}`);
    this.pending.set(id, { text, element, images });
    this.queue.append(element);
    this.text.value = "";
    this.pictures = [];
    this.#showPictures();
    this.#fit();
  }

  abort() {
    try {
      this.send({ t: "abort" });
    } catch (error) {
      this.fail(error.message);
    }
  }

  accepted(id) {
    const sent = this.pending.get(id);
    if (!sent) return;
    sent.isAccepted = true;
    sent.element.firstChild.textContent = this.isActive ? "queued" : "sent";
  }

  refused(id, message) {
    const sent = this.pending.get(id);
    if (sent) {
      this.#settle(id, sent);
      if (!this.text.value) {
        this.text.value = sent.text; // not lost: it can be sent again
        this.pictures = sent.images;
        this.#showPictures();
        this.#fit();
      }
    }
    this.fail(message);
  }

  /** A prompt has become part of the conversation. */
  arrived(text) {
    for (const [id, sent] of this.pending) {
      if (sent.text === text.trim()) return this.#settle(id, sent);
    }
    return undefined;
  }

  #settle(id, sent) {
    sent.element.remove();
    this.pending.delete(id);
  }

  active(isActive) {
    if (!isActive) for (const [id, sent] of this.pending) if (sent.isAccepted) this.#settle(id, sent);
    if (this.isActive === isActive) return;
    this.isActive = isActive;
    this.stop.hidden = this.later.hidden = !isActive;
    this.go.textContent = isActive ? "Steer" : "Send";
    this.text.placeholder = isActive ? "Steer pi while it works" : "Message pi";
  }

  enabled(isOn) {
    for (const each of [this.go, this.later, this.stop]) each.disabled = !isOn;
  }

  fail(message) {
    this.error.textContent = message;
    this.error.hidden = false;
  }
}

/** A picture of at most MAX_SIDE pixels: a frame has less than 1 MB. */
async function shrunk(file) {
  const bitmap = await createImageBitmap(file);
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  let url = canvas.toDataURL("image/png");
  for (const quality of [0.85, 0.6, 0.4]) {
    if (url.length < 500000) break;
    url = canvas.toDataURL("image/jpeg", quality);
  }
  const [, mimeType, data] = /^data:(.*?);base64,(.*)$/.exec(url);
  return { type: "image", data, mimeType };
}
