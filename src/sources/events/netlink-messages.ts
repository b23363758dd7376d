/**
 * Bytes of netlink messages, in the machine's order (little-endian: src/native/netlink.ts opens nothing elsewhere).
 * Netlink: nlmsghdr (length, type, flags, sequence, port), then the family's own header; generic netlink has four more
 * bytes (command, version), then attributes (length, type), each padded to four.
 */

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;
export const NLMSGHDR_BYTES = 16;
export const GENLMSGHDR_BYTES = 4;

const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
const NLA_HEADER_BYTES = 4;
/** The two upper bits of a type are flags (nested, network byte order). */
const NLA_TYPE_MASK = 0x3fff;

const aligned = (length: number): number => (length + 3) & ~3;

export const messageType = (buffer: Buffer, offset: number): number => buffer.readUInt16LE(offset + 4);

/** Whether one message, header included, lies within the buffer. */
export function holdsMessage(buffer: Buffer, offset: number, length: number): boolean {
  return offset >= 0 && length >= NLMSGHDR_BYTES && offset + length <= buffer.length;
}

/** A whole request. acknowledged: the kernel answers with an error message even on success (error 0). */
export function request(type: number, sequence: number, acknowledged: boolean, payload: Buffer): Buffer {
  const header = Buffer.alloc(NLMSGHDR_BYTES);
  header.writeUInt32LE(NLMSGHDR_BYTES + payload.length, 0);
  header.writeUInt16LE(type, 4);
  header.writeUInt16LE(NLM_F_REQUEST | (acknowledged ? NLM_F_ACK : 0), 6);
  header.writeUInt32LE(sequence, 8);
  return Buffer.concat([header, payload]);
}

/** Payload of a generic netlink request with one attribute. */
export function genericPayload(command: number, attributeType: number, value: Buffer): Buffer {
  const payload = Buffer.alloc(GENLMSGHDR_BYTES + aligned(NLA_HEADER_BYTES + value.length));
  payload.writeUInt8(command, 0);
  payload.writeUInt8(1, 1);
  payload.writeUInt16LE(NLA_HEADER_BYTES + value.length, GENLMSGHDR_BYTES);
  payload.writeUInt16LE(attributeType, GENLMSGHDR_BYTES + 2);
  value.copy(payload, GENLMSGHDR_BYTES + NLA_HEADER_BYTES);
  return payload;
}

/** errno of an error message (0: success); null: some other message. */
export function errorOf(buffer: Buffer, offset: number, length: number): number | null {
  if (messageType(buffer, offset) !== NLMSG_ERROR || length < NLMSGHDR_BYTES + 4) return null;
  return -buffer.readInt32LE(offset + NLMSGHDR_BYTES);
}

/** Calls back with type, offset and length of each attribute's value in [offset, end); stops at the first broken one. */
export function forEachAttribute(
  buffer: Buffer,
  offset: number,
  end: number,
  onAttribute: (type: number, offset: number, length: number) => void,
): void {
  const limit = Math.min(end, buffer.length);
  for (let at = offset; at + NLA_HEADER_BYTES <= limit;) {
    const length = buffer.readUInt16LE(at);
    if (length < NLA_HEADER_BYTES || at + length > limit) return;
    const type = buffer.readUInt16LE(at + 2) & NLA_TYPE_MASK;
    onAttribute(type, at + NLA_HEADER_BYTES, length - NLA_HEADER_BYTES);
    at += aligned(length);
  }
}

/** A 64-bit count; beyond 2^53 it loses its last digits. */
export const readU64 = (buffer: Buffer, offset: number): number =>
  buffer.readUInt32LE(offset) + buffer.readUInt32LE(offset + 4) * 2 ** 32;
