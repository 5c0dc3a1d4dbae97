// ReceiptHandle: names one receive of one message: its queue, its number, and which receive it was.
//   R1. The same receive always gives the same handle; another receive always another.
//   R2. A handle carries a checksum keyed by the broker's own secret, so that garbage and handles
//       of another broker are told apart from handles of messages that are gone. It is no
//       protection against a forger; nothing here grants rights.
//   R3. Handles outlive a restart: nothing about them is kept in memory.

const LENGTH_BYTES = 24;

export interface ReceiptHandle {
  readonly queue: number;
  readonly seq: number;
  readonly receiveCount: number;
}

export interface ReceiptHandles {
  encode(queue: number, seq: number, receiveCount: number): string;
  /** Null when the text is no handle of this broker (R2). */
  decode(text: string): ReceiptHandle | null;
}

/** Spreads every bit of `value` over all 32 (the finaliser of MurmurHash3). */
function mix(value: number): number {
  let word = value;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

function checksum(bytes: Buffer, secret: number): number {
  let sum = mix(secret);
  for (let offset = 0; offset < LENGTH_BYTES - 8; offset += 4) {
    sum = mix(sum ^ bytes.readUInt32BE(offset));
  }
  return sum;
}

/** `secret` is drawn once in the life of a data folder. */
export function createReceiptHandles(secret: readonly [number, number]): ReceiptHandles {
  const scratch = Buffer.alloc(LENGTH_BYTES);
  return {
    encode(queue, seq, receiveCount) {
      scratch.writeUInt32BE(queue, 0);
      scratch.writeUInt32BE(Math.floor(seq / 0x1_0000_0000), 4);
      scratch.writeUInt32BE(seq >>> 0, 8);
      scratch.writeUInt32BE(receiveCount, 12);
      scratch.writeUInt32BE(checksum(scratch, secret[0]), 16);
      scratch.writeUInt32BE(checksum(scratch, secret[1]), 20);
      return scratch.toString("base64");
    },
    decode(text) {
      const bytes = Buffer.from(text, "base64");
      if (bytes.length !== LENGTH_BYTES || bytes.toString("base64") !== text) return null;
      if (bytes.readUInt32BE(16) !== checksum(bytes, secret[0])) return null; // R2
      if (bytes.readUInt32BE(20) !== checksum(bytes, secret[1])) return null;
      return {
        queue: bytes.readUInt32BE(0),
        seq: bytes.readUInt32BE(4) * 0x1_0000_0000 + bytes.readUInt32BE(8),
        receiveCount: bytes.readUInt32BE(12),
      };
    },
  };
}
