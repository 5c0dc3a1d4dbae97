// Address range: whether an IP address is in a range such as 203.0.113.0/24 or 2001:db8::/32.

const V4_BITS = 32;
const V6_BITS = 128;

/** Null if the range is none; false if the address is none, or of another version. */
export function addressMatches(address: string, range: string): boolean | null {
  const [base = "", length, ...rest] = range.split("/");
  const network = readAddress(base);
  if (network === null || rest.length > 0) return null;
  const prefix = length === undefined ? network.bits : /^\d{1,3}$/.test(length) ? +length : -1;
  if (prefix < 0 || prefix > network.bits) return null;
  const given = readAddress(address);
  if (given === null || given.bits !== network.bits) return false;
  const shift = BigInt(network.bits - prefix);
  return given.value >> shift === network.value >> shift;
}

interface Address {
  readonly bits: number;
  readonly value: bigint;
}

function readAddress(text: string): Address | null {
  return text.includes(":") ? readV6(text) : readV4(text);
}

function readV4(text: string): Address | null {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let value = 0n;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return null;
    value = (value << 8n) | BigInt(part);
  }
  return { bits: V4_BITS, value };
}

function readV6(text: string): Address | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  let value = 0n;
  for (const group of [...head, ...Array<string>(Math.max(missing, 0)).fill("0"), ...tail]) {
    if (!/^[\da-f]{1,4}$/i.test(group)) return null;
    value = (value << 16n) | BigInt(`0x${group}`);
  }
  return { bits: V6_BITS, value };
}
