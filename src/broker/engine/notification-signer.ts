// NotificationSigner: fills in the signatures of notifications just before they are read.
//   S1. Publishing never waits for a signature, and neither does a reader of any other message.
//   S2. The key is created with the first topic, once per data folder, and committed before any
//       notification can refer to its certificate.

import type { Signer, SignerIdentity } from "../../ports/signer.ts";
import { fillSignature, textToSign } from "../model/sns/notification.ts";
import type { SignatureVersion } from "../model/sns/topic-operations-contract.ts";
import type { Broker } from "./broker.ts";

interface Signable {
  readonly body: string;
  readonly unsigned?: SignatureVersion | null | undefined;
}

export class NotificationSigner {
  readonly #signer: Signer;
  readonly #submit: Broker["submit"];
  #identity: Promise<SignerIdentity> | null = null;

  constructor(signer: Signer, submit: Broker["submit"]) {
    this.#signer = signer;
    this.#submit = submit;
  }

  /** Resolves once a key is committed (S2). */
  async ensure(): Promise<void> {
    await this.#loadIdentity();
  }

  /** The same messages, signed. */
  async sign<M extends Signable>(messages: readonly M[]): Promise<M[]> {
    return Promise.all(
      messages.map(async (message) => {
        const version = message.unsigned ?? null;
        if (version === null) return message; // S1
        const digest = version === "2" ? "sha256" : "sha1";
        const identity = await this.#loadIdentity();
        const signature = await this.#signer.sign(identity, digest, textToSign(message.body));
        return { ...message, body: fillSignature(message.body, signature) };
      }),
    );
  }

  #loadIdentity(): Promise<SignerIdentity> {
    this.#identity ??= this.#load().catch((error: unknown) => {
      this.#identity = null; // The next call tries again.
      throw error;
    });
    return this.#identity;
  }

  async #load(): Promise<SignerIdentity> {
    const existing = await this.#submit("findSigningIdentity", null);
    if (existing.ok && existing.value !== null) return existing.value;
    const created = await this.#signer.createIdentity();
    const stored = await this.#submit("keepSigningIdentity", created);
    return stored.ok ? stored.value : created;
  }
}
