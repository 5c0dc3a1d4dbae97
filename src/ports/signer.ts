// Signer: keys and signatures, which only the platform's crypto library should create.
//   G1. A signature is a function of key, digest and text (RSA, PKCS #1 v1.5): signing twice gives
//       the same result.

/** A private key and the self-signed certificate of its public key. */
export interface SignerIdentity {
  /** Hex digits that identify the certificate. */
  readonly id: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

export interface Signer {
  /** Creates a new key; slow, but does not block the event loop. */
  createIdentity(): Promise<SignerIdentity>;
  /** The signature of a text's UTF-8, in base64 (G1). */
  sign(identity: SignerIdentity, digest: "sha1" | "sha256", text: string): Promise<string>;
}
