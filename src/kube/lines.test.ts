import { expect, it } from "vitest";
import { LineDecoder } from "./lines.ts";

function linesOf(decoder: LineDecoder, chunk: Buffer): string[] {
  decoder.push(chunk);
  const lines: string[] = [];
  for (let line = decoder.next(); line !== undefined; line = decoder.next()) lines.push(line);
  return lines;
}

it("gives the same lines however the bytes are cut", () => {
  const bytes = Buffer.from('{"a":"größe"}\n\r\n{"b":"😀"}\r\nrest');
  for (let size = 1; size <= bytes.length; size++) {
    const decoder = new LineDecoder();
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) lines.push(...linesOf(decoder, bytes.subarray(at, at + size)));
    expect([lines, decoder.rest()]).toEqual([['{"a":"größe"}', '{"b":"😀"}'], "rest"]);
  }
});

it("has no line before something has come", () => {
  expect(new LineDecoder().next()).toBeUndefined();
});
