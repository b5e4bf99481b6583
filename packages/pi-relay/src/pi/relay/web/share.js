// Shows a sealed share. The key is in the fragment of the address, which is never sent.

import { decode64 } from "./sealing.js";
import { Session } from "./session.js";
import { applyTheme } from "./theme.js";
import { Transcript } from "./transcript.js";

const $ = (id) => document.getElementById(id);
const MAX_TEXT = 64 * 1024 * 1024;

applyTheme($("theme"));
addEventListener("hashchange", () => location.reload());
show().catch((error) => {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
});

async function show() {
  const key = location.hash.slice(1);
  if (!key) throw new Error("The link is incomplete: the part after # is missing.");
  if (!globalThis.crypto?.subtle) throw new Error("This page needs https to decrypt the session.");
  const answer = await fetch(`${location.pathname.replace(/\/+$/, "")}/raw`);
  if (answer.status === 404) throw new Error("This share does not exist, or not any more.");
  if (!answer.ok) throw new Error(`The share cannot be read (${answer.status}).`);
  const sealed = new Uint8Array(await answer.arrayBuffer());
  const [first, ...lines] = (await opened(sealed, key)).split("\n").filter(Boolean);
  const header = JSON.parse(first), session = new Session();
  const last = lines.length ? JSON.parse(lines.at(-1)).id : null;
  const about = { header, leafId: header.leafId ?? last, partial: null, tools: [], state: null, agents: [] };
  await session.load({ session: String(header.id), from: 0, about, lines });
  const transcript = new Transcript($("transcript"), $("scroll"), session);
  transcript.onFollow = (follows) => ($("to-end").hidden = follows);
  $("to-end").onclick = () => transcript.toEnd();
  transcript.rebuild();
  $("scroll").scrollTop = 0;
  const title = session.name || "Shared session";
  $("title").textContent = title;
  document.title = `${title} – pi`;
  const date = new Date(header.timestamp);
  $("facts").textContent = Number.isNaN(date.getTime()) ? "" : date.toLocaleDateString();
}

async function opened(sealed, code) {
  if (sealed[0] !== 1) throw new Error("The share is of another version.");
  let plain;
  try {
    const key = await crypto.subtle.importKey("raw", decode64(code), "AES-GCM", false, ["decrypt"]);
    const additionalData = new TextEncoder().encode("pi-share-1");
    plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv: sealed.subarray(1, 13), additionalData }, key, sealed.subarray(13));
  } catch {
    throw new Error("The key of the link does not fit this share.");
  }
  const reader = new Blob([plain]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_TEXT) throw new Error("The share is too large to show.");
  }
}
