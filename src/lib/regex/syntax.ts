/** What a pattern means, as a tree. */

/** A pattern that cannot be understood; the text is what Go's regexp package would say. */
export class RegexError extends Error {
  override name = "RegexError";

  constructor(what: string, where: string) {
    super(`error parsing regexp: ${what}: \`${where}\``);
  }
}

/** Whether a code point belongs to a class. */
export type CharTest = (code: number) => boolean;

export type Assertion = "textStart" | "textEnd" | "lineStart" | "lineEnd" | "wordBoundary" | "notWordBoundary";

export type Syntax =
  | { readonly kind: "empty" }
  | { readonly kind: "char"; readonly code: number }
  | { readonly kind: "set"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly Syntax[] }
  | { readonly kind: "choice"; readonly options: readonly Syntax[] }
  | {
      readonly kind: "repeat";
      readonly body: Syntax;
      readonly min: number;
      readonly max: number;
      readonly greedy: boolean;
    };
