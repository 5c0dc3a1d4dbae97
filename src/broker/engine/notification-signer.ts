// Seal: fills in the signatures of notifications when somebody is about to read them.
//   S1. Publishing never waits for a signature, and neither does a reader of anything else.
//   S2. The key is made when the first topic is, once for a data folder, and committed before any
//       notification can name its certificate.

import type { Signer, SignerIdentity } from "../../ports/signer.ts";
import { fillSignature, textToSign } from "../model/sns/notification.ts";
import type { SignatureVersion } from "../model/sns/topic-operations-contract.ts";
import type { Broker } from "./broker.ts";

interface Sealable {
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

  /** Resolves once there is a committed key (S2). */
  async ensure(): Promise<void> {
    await this.#known();
  }

  /** The same messages, signed. */
  async seal<M extends Sealable>(messages: readonly M[]): Promise<M[]> {
    return Promise.all(
      messages.map(async (message) => {
        const version = message.unsigned ?? null;
        if (version === null) return message; // S1
        const digest = version === "2" ? "sha256" : "sha1";
        const identity = await this.#known();
        const signature = await this.#signer.sign(identity, digest, textToSign(message.body));
        return { ...message, body: fillSignature(message.body, signature) };
      }),
    );
  }

  #known(): Promise<SignerIdentity> {
    this.#identity ??= this.#load().catch((error: unknown) => {
      this.#identity = null; // The next one tries again.
      throw error;
    });
    return this.#identity;
  }

  async #load(): Promise<SignerIdentity> {
    const found = await this.#submit("findSigningIdentity", null);
    if (found.ok && found.value !== null) return found.value;
    const made = await this.#signer.createIdentity();
    const kept = await this.#submit("keepSigningIdentity", made);
    return kept.ok ? kept.value : made;
  }
}
