// Signer: keys and signatures, which only the machine's own library should make.
//   G1. A signature follows from key, digest and text alone (RSA, PKCS #1 v1.5): made twice, it is
//       the same.

/** A private key, and the self-signed certificate of its public half. */
export interface SignerIdentity {
  /** Hex digits that tell certificates apart. */
  readonly id: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export interface Signer {
  /** Makes a new key; takes a while, but does not hold up others. */
  createIdentity(): Promise<SignerIdentity>;
  /** The signature of a text's UTF-8, in base64 (G1). */
  sign(identity: SignerIdentity, digest: "sha1" | "sha256", text: string): Promise<string>;
}
