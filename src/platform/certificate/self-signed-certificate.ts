// SelfSignedCertificate: an X.509 version 3 certificate (RFC 5280) for our own key. Node can parse
// certificates but not create them.

import { type KeyObject, sign } from "node:crypto";
import {
  bitString,
  derBoolean,
  derInteger,
  explicit,
  nothing,
  objectIdentifier,
  octetString,
  pem,
  sequence,
  set,
  time,
  utf8String,
} from "./der.ts";

const SHA256_WITH_RSA = "1.2.840.113549.1.1.11";
const COMMON_NAME = "2.5.4.3";
const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";
/** Bit 0 of the key usage: digital signatures. */
const DIGITAL_SIGNATURE = Uint8Array.of(0x80);
const DIGITAL_SIGNATURE_UNUSED_BITS = 7;
const VERSION_3 = Uint8Array.of(2);

export interface CertificateOptions {
  readonly commonName: string;
  /** Unique among the certificates with this name. */
  readonly serial: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** The certificate in PEM. */
export function createSelfSignedCertificate(options: CertificateOptions): string {
  const algorithm = sequence(objectIdentifier(SHA256_WITH_RSA), nothing());
  const name = sequence(
    set(sequence(objectIdentifier(COMMON_NAME), utf8String(options.commonName))),
  );
  const statement = sequence(
    explicit(0, derInteger(VERSION_3)),
    derInteger(options.serial),
    algorithm,
    name,
    sequence(time(options.notBefore), time(options.notAfter)),
    name,
    options.publicKey.export({ type: "spki", format: "der" }),
    explicit(3, extensions()),
  );
  const signature = sign("sha256", statement, options.privateKey);
  return pem("CERTIFICATE", sequence(statement, algorithm, bitString(signature)));
}

function extensions(): Buffer {
  const usage = bitString(DIGITAL_SIGNATURE, DIGITAL_SIGNATURE_UNUSED_BITS);
  return sequence(
    extension(BASIC_CONSTRAINTS, sequence()), // Not a certificate authority.
    extension(KEY_USAGE, usage),
  );
}

function extension(id: string, content: Uint8Array): Buffer {
  return sequence(objectIdentifier(id), derBoolean(true), octetString(content));
}
