/** Keys that a JSON object names twice: parsing keeps the last one and says nothing. */
import { endOfString } from "./json-text.ts";

interface Frame {
  /** Undefined in a list. */
  readonly keys?: Set<string>;
  key: string;
  index: number;
  /** Whether the next string is a key. */
  wantsKey: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** The paths of repeated fields in a text that is known to be JSON, in the order of the text. */
export function repeatedFields(text: string): string[] {
  const found: string[] = [];
  const stack: Frame[] = [];
  for (let at = 0; at < text.length; at++) {
    const frame = stack.at(-1);
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (frame?.keys && frame.wantsKey) {
          frame.key = keyOf(text.slice(at, end + 1));
          if (frame.keys.has(frame.key)) found.push(pathOf(stack));
          frame.keys.add(frame.key);
        }
        at = end;
        break;
      }
      case OBJECT:
        stack.push({ keys: new Set(), key: "", index: 0, wantsKey: true });
        break;
      case LIST:
        stack.push({ key: "", index: 0, wantsKey: false });
        break;
      case COLON:
        if (frame) frame.wantsKey = false;
        break;
      case COMMA:
        if (frame?.keys) frame.wantsKey = true;
        else if (frame) frame.index++;
        break;
      case OBJECT_END:
      case LIST_END:
        stack.pop();
        break;
    }
  }
  return [...new Set(found)];
}

function keyOf(quoted: string): string {
  return quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function pathOf(stack: readonly Frame[]): string {
  let path = "";
  for (const { keys, key, index } of stack) path += keys ? `${path === "" ? "" : "."}${key}` : `[${index}]`;
  return path;
}
