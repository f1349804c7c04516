/** The named classes of characters. */
import type { CharTest } from "./syntax.ts";

type Ranges = readonly (readonly [number, number])[];

const DIGIT: Ranges = [[0x30, 0x39]];
const SPACE: Ranges = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
];
const WORD: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];

const PERL: ReadonlyMap<string, Ranges> = new Map([
  ["d", DIGIT],
  ["s", SPACE],
  ["w", WORD],
]);

const UPPER = [0x41, 0x5a] as const;
const LOWER = [0x61, 0x7a] as const;

const POSIX: ReadonlyMap<string, Ranges> = new Map<string, Ranges>([
  ["alnum", [...DIGIT, UPPER, LOWER]],
  ["alpha", [UPPER, LOWER]],
  ["ascii", [[0, 0x7f]]],
  [
    "blank",
    [
      [0x09, 0x09],
      [0x20, 0x20],
    ],
  ],
  [
    "cntrl",
    [
      [0, 0x1f],
      [0x7f, 0x7f],
    ],
  ],
  ["digit", DIGIT],
  ["graph", [[0x21, 0x7e]]],
  ["lower", [LOWER]],
  ["print", [[0x20, 0x7e]]],
  [
    "punct",
    [
      [0x21, 0x2f],
      [0x3a, 0x40],
      [0x5b, 0x60],
      [0x7b, 0x7e],
    ],
  ],
  [
    "space",
    [
      [0x09, 0x0d],
      [0x20, 0x20],
    ],
  ],
  ["upper", [UPPER]],
  ["word", WORD],
  [
    "xdigit",
    [
      [0x30, 0x39],
      [0x41, 0x46],
      [0x61, 0x66],
    ],
  ],
]);

/** `\d`, `\W` … by their letter. */
export function perlClass(letter: string): CharTest | undefined {
  const ranges = PERL.get(letter.toLowerCase());
  if (!ranges) return undefined;
  const test = inRanges(ranges);
  return letter === letter.toLowerCase() ? test : negated(test);
}

/** `[:alpha:]` by its name, which may start with `^`. */
export function posixClass(name: string): CharTest | undefined {
  const ranges = POSIX.get(name.replace(/^\^/, ""));
  if (!ranges) return undefined;
  return name.startsWith("^") ? negated(inRanges(ranges)) : inRanges(ranges);
}

/** `\p{Greek}`, `\pL` by the name of the category or script. */
export function unicodeClass(name: string): CharTest | undefined {
  if (name === "Any") return () => true;
  if (!/^[A-Za-z_]+$/.test(name)) return undefined;
  for (const property of [`General_Category=${name}`, `Script=${name}`]) {
    try {
      const pattern = new RegExp(`^\\p{${property}}$`, "u");
      return (code) => pattern.test(String.fromCodePoint(code));
    } catch {
      // not a name of this kind
    }
  }
  return undefined;
}

export function inRanges(ranges: Ranges): CharTest {
  return (code) => {
    for (const [low, high] of ranges) if (code >= low && code <= high) return true;
    return false;
  };
}

export function negated(test: CharTest): CharTest {
  return (code) => !test(code);
}

/** Accepts a character when any of its cases is accepted. */
export function ignoringCase(test: CharTest): CharTest {
  return (code) => {
    if (test(code)) return true;
    const text = String.fromCodePoint(code);
    return test(only(text.toLowerCase(), code)) || test(only(text.toUpperCase(), code));
  };
}

/** The code point of a text of one character; some change their length with their case, and stay as they are. */
function only(text: string, otherwise: number): number {
  const code = text.codePointAt(0) ?? otherwise;
  return text.length === (code > 0xffff ? 2 : 1) ? code : otherwise;
}

export function isWordChar(code: number | undefined): boolean {
  return code !== undefined && inWord(code);
}

const inWord = inRanges(WORD);
