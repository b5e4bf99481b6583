// Links and frames: encryption, proof of the write right. See docs/reference/collab-protocol.md.

export const VERSION = 5;
export const MAX_FRAME = 786432;
export const NO_EPOCH = new Uint8Array(16);
const HEAD = 30, IV = 12, TAG = 16, MAC = 32;

export class BadLink extends Error {}
export class BadFrame extends Error {}

export function encode64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decode64(text) {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) throw new BadLink("The link is damaged. Copy it once more.");
  let raw;
  try {
    raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    throw new BadLink("The link is damaged. Copy it once more.");
  }
  return Uint8Array.from(raw, (each) => each.charCodeAt(0));
}

/** ROOM.VERSION.SECRET; a second `#` in an address arrives as `%23` on some systems. */
export function parseCode(code) {
  const words = code.trim().replace(/^[/#]+|\/+$/g, "").split(/\.|#|%23/);
  const version = words.length === 2 ? "4" : words[1];
  if (words.length < 2 || words.length > 3) {
    throw new BadLink("This is not a link to a shared session.");
  }
  if (version !== String(VERSION)) {
    throw new BadLink(
      `The link is of protocol version ${version.slice(0, 8)}; this page speaks version ${VERSION}.`,
    );
  }
  const room = decode64(words[0]), secret = decode64(words[2]);
  if (room.length !== 16 || ![32, 48].includes(secret.length)) {
    throw new BadLink("The link is incomplete. Copy it once more, as a whole.");
  }
  return { id: words[0], room, key: secret.slice(0, 32), token: secret.slice(32) };
}

/** A link as a user pastes it: a code, RELAY/r/CODE, or PAGE/#CODE. Returns relay and code. */
export function splitLink(text) {
  const given = text.trim().replace(/^["'<]+|["'>]+$/g, "");
  const found = /^(.*?)\/(?:r\/|#|%23)(.+)$/.exec(given);
  if (!found) return { relay: "", code: given };
  return { relay: found[1].replace(/^(?:https?|wss?):\/\//, ""), code: found[2] };
}

export class Sealer {
  static async create(keys) {
    const sealer = new Sealer();
    sealer.canWrite = keys.token.length > 0;
    sealer.room = keys.room;
    sealer.cipher = await crypto.subtle.importKey("raw", keys.key, "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
    sealer.token = sealer.canWrite
      ? await crypto.subtle.importKey("raw", keys.token, "HKDF", false, ["deriveKey"])
      : null;
    sealer.proofKey = { epoch: "", key: null };
    return sealer;
  }

  /** A frame of this guest. Its head has peer 0, which the relay replaces. */
  async seal(plaintext, { peer, epoch, counter, prove }) {
    const iv = crypto.getRandomValues(new Uint8Array(IV));
    const sealed = new Uint8Array(
      await crypto.subtle.encrypt(
        { name: "AES-GCM", iv, additionalData: bound(1, peer, epoch, counter) },
        this.cipher,
        plaintext,
      ),
    );
    const frame = new Uint8Array(HEAD + IV + sealed.length + (prove ? MAC : 0));
    const view = new DataView(frame.buffer);
    view.setUint8(4, VERSION);
    view.setUint8(5, prove ? 1 : 0);
    frame.set(epoch, 6);
    view.setBigUint64(22, BigInt(counter));
    frame.set(iv, HEAD);
    frame.set(sealed, HEAD + IV);
    if (prove) {
      const proved = new Uint8Array(12 + IV + sealed.length);
      const head = new DataView(proved.buffer);
      head.setUint32(0, peer);
      head.setBigUint64(4, BigInt(counter));
      proved.set(iv, 12);
      proved.set(sealed, 12 + IV);
      const mac = await crypto.subtle.sign("HMAC", await this.#writeKey(epoch), proved);
      frame.set(new Uint8Array(mac), HEAD + IV + sealed.length);
    }
    if (frame.length > MAX_FRAME) throw new BadFrame("too large");
    return frame;
  }

  /** Decrypts a frame of the host. */
  async open(frame) {
    if (frame.length < HEAD + IV + TAG || frame.length > MAX_FRAME) throw new BadFrame("size");
    const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
    if (view.getUint8(4) !== VERSION || view.getUint8(5) !== 0) throw new BadFrame("head");
    const peer = view.getUint32(0), counter = Number(view.getBigUint64(22));
    const epoch = frame.slice(6, 22);
    try {
      const plaintext = await crypto.subtle.decrypt(
        {
          name: "AES-GCM",
          iv: frame.subarray(HEAD, HEAD + IV),
          additionalData: bound(0, peer, epoch, counter),
        },
        this.cipher,
        frame.subarray(HEAD + IV),
      );
      return { peer, epoch, counter, plaintext: new Uint8Array(plaintext) };
    } catch {
      throw new BadFrame("does not decrypt");
    }
  }

  async #writeKey(epoch) {
    const name = encode64(epoch);
    if (this.proofKey.epoch !== name) {
      const info = new Uint8Array(32);
      info.set(this.room);
      info.set(epoch, 16);
      const key = await crypto.subtle.deriveKey(
        { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info },
        this.token,
        { name: "HMAC", hash: "SHA-256", length: 256 },
        false,
        ["sign"],
      );
      this.proofKey = { epoch: name, key };
    }
    return this.proofKey.key;
  }
}

function bound(direction, peer, epoch, counter) {
  const data = new Uint8Array(29), view = new DataView(data.buffer);
  view.setUint8(0, direction);
  view.setUint32(1, peer);
  data.set(epoch, 5);
  view.setBigUint64(21, BigInt(counter));
  return data;
}
