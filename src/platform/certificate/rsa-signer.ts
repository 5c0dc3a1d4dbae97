// RsaSigner: 2,048-bit keys, certificates and signatures from Node's crypto. Key generation and
// signing run off the event loop.

import {
  createPrivateKey,
  generateKeyPair,
  hash,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import type { Signer, SignerIdentity } from "../../ports/signer.ts";
import { createSelfSignedCertificate } from "./self-signed-certificate.ts";

const KEY_BITS = 2_048;
const SERIAL_BYTES = 16;
const ID_DIGITS = 32;
/** Allows for old data folders and for clocks that are set back. */
const VALID_BEFORE_DAYS = 1;
const VALID_AFTER_DAYS = 3_650;
const DAY_MS = 86_400_000;
const COMMON_NAME = "sns.tidegate.invalid";

export function createRsaSigner(): Signer {
  const keys = new Map<string, KeyObject>();
  return {
    async createIdentity() {
      const { publicKey, privateKey } = await createKeys();
      const now = Date.now();
      const certificatePem = createSelfSignedCertificate({
        commonName: COMMON_NAME,
        serial: randomBytes(SERIAL_BYTES),
        notBefore: new Date(now - VALID_BEFORE_DAYS * DAY_MS),
        notAfter: new Date(now + VALID_AFTER_DAYS * DAY_MS),
        publicKey,
        privateKey,
      });
      return {
        id: hash("sha256", certificatePem, "hex").slice(0, ID_DIGITS),
        certificatePem,
        privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
      };
    },
    sign: (identity, digest, text) => signText(keyOf(keys, identity), digest, text),
  };
}

/** Parsing a key costs as much as a signature, so keys are cached. */
function keyOf(keys: Map<string, KeyObject>, identity: SignerIdentity): KeyObject {
  const cached = keys.get(identity.id);
  if (cached !== undefined) return cached;
  const key = createPrivateKey(identity.privateKeyPem);
  keys.set(identity.id, key);
  return key;
}

function createKeys(): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return new Promise((resolve, reject) => {
    generateKeyPair("rsa", { modulusLength: KEY_BITS }, (error, publicKey, privateKey) => {
      if (error === null) resolve({ publicKey, privateKey });
      else reject(error);
    });
  });
}

function signText(key: KeyObject, digest: "sha1" | "sha256", text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    sign(digest, Buffer.from(text, "utf8"), key, (error, signature) => {
      if (error === null) resolve(signature.toString("base64"));
      else reject(error);
    });
  });
}
