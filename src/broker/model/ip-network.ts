// IpNetwork: IPv4 and IPv6 addresses and CIDR networks as numbers.

export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

export interface IpNetwork {
  readonly address: IpAddress;
  readonly maskBits: number;
}

export function parseIpAddress(text: string): IpAddress | null {
  if (!text.includes(":")) {
    const value = parseV4(text);
    return value === null ? null : { bits: 32, value: BigInt(value) };
  }
  const value = parseV6(text);
  return value === null ? null : { bits: 128, value };
}

export function isInNetwork(address: IpAddress, network: IpNetwork): boolean {
  if (address.bits !== network.address.bits) return false;
  const shift = BigInt(address.bits - network.maskBits);
  return address.value >> shift === network.address.value >> shift;
}

function parseV4(text: string): number | null {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let value = 0;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return null;
    value = value * 256 + Number(part);
  }
  return value;
}

const GROUPS = 8;

function parseV6(text: string): bigint | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const head = readGroups(halves[0] as string);
  const tail = halves.length === 2 ? readGroups(halves[1] as string) : [];
  if (head === null || tail === null) return null;
  const missing = GROUPS - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  return groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** Groups of 16 bits; the last two may be written as an IPv4 address. */
function readGroups(text: string): number[] | null {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const v4 = index === parts.length - 1 && part.includes(".") ? parseV4(part) : null;
    if (v4 !== null) groups.push(v4 >>> 16, v4 & 0xffff);
    else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}
