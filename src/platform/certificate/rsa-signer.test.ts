import { createPublicKey, verify, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { createRsaSigner } from "./rsa-signer.ts";

test("Node parses the certificate of a new identity and accepts it as self-signed and valid", async () => {
  const identity = await createRsaSigner().createIdentity();
  const certificate = new X509Certificate(identity.certificatePem);
  expect(certificate.subject).toBe("CN=sns.tidegate.invalid");
  expect(certificate.issuer).toBe(certificate.subject);
  expect(certificate.ca).toBe(false);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2_048);
  expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now());
  expect(Date.parse(certificate.validTo)).toBeGreaterThan(Date.now() + 86_400_000 * 3_000);
  const own = createPublicKey(identity.privateKeyPem);
  expect(certificate.publicKey.equals(own)).toBe(true);
  expect(identity.id).toMatch(/^[0-9a-f]{32}$/);
});

test("a signature verifies with its digest, is deterministic, and matches only its text", async () => {
  const signer = createRsaSigner();
  const identity = await signer.createIdentity();
  const { publicKey } = new X509Certificate(identity.certificatePem);
  const text = "Message\nzwölf\n";
  for (const digest of ["sha1", "sha256"] as const) {
    const signature = await signer.sign(identity, digest, text);
    expect(signature).toHaveLength(344);
    expect(await createRsaSigner().sign(identity, digest, text)).toBe(signature);
    const bytes = Buffer.from(signature, "base64");
    expect(verify(digest, Buffer.from(text), publicKey, bytes)).toBe(true);
    expect(verify(digest, Buffer.from(`${text}x`), publicKey, bytes)).toBe(false);
  }
});
