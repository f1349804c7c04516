/** The words of a shell script and the operators between them; what is quoted or substituted stays one word. */

export type ShellToken = { readonly word: string } | { readonly operator: string };

const OPERATOR = /^(?:&&|\|\||;;|[;&|()\n])/;

/** The words of a command without those before it that only set variables: `A=1 B=2 sleep 5`. */
export function afterSettings(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  return first < 0 ? [] : words.slice(first);
}

export function shellWords(text: string): ShellToken[] {
  const tokens: ShellToken[] = [];
  let word: string | undefined;
  const finish = () => {
    if (word !== undefined) tokens.push({ word });
    word = undefined;
  };
  for (let at = 0; at < text.length; ) {
    const char = text[at] ?? "";
    const [operator] = isRedirection(text, at) ? [] : (OPERATOR.exec(text.slice(at, at + 2)) ?? []);
    if (char === " " || char === "\t") {
      finish();
      at++;
    } else if (char === "#" && word === undefined) {
      at = endOfLine(text, at);
    } else if (operator !== undefined) {
      finish();
      // Parentheses only group: what they hold is looked at like everything else.
      tokens.push(
        operator === "(" || operator === ")" ? { word: operator } : { operator: operator === "\n" ? ";" : operator },
      );
      at += operator.length;
    } else {
      const { piece, end } = pieceAt(text, at);
      word = (word ?? "") + piece;
      at = end;
    }
  }
  finish();
  return tokens;
}

/** The ampersand of `2>&1` and `&>file` joins nothing. */
function isRedirection(text: string, at: number): boolean {
  return text[at] === "&" && (text[at - 1] === ">" || text[at - 1] === "<" || text[at + 1] === ">");
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** A piece of a word: quoted, escaped, substituted, or a plain character. */
function pieceAt(text: string, at: number): { piece: string; end: number } {
  const char = text[at] ?? "";
  if (char === "\\") return { piece: text[at + 1] === "\n" ? "" : (text[at + 1] ?? ""), end: at + 2 };
  if (char === "'" || char === '"' || char === "`") {
    const end = closing(text, at, char);
    return { piece: char === "`" ? text.slice(at, end) : text.slice(at + 1, end - 1), end };
  }
  if (char === "$" && text[at + 1] === "(") {
    const end = closingParenthesis(text, at + 1);
    return { piece: text.slice(at, end), end };
  }
  return { piece: char, end: at + 1 };
}

/** The place after the quote that closes the one at this place; the end of the text when nothing does. */
function closing(text: string, at: number, quote: string): number {
  for (let next = at + 1; next < text.length; next++) {
    if (text[next] === "\\" && quote !== "'") next++;
    else if (text[next] === quote) return next + 1;
  }
  return text.length + 1;
}

function closingParenthesis(text: string, at: number): number {
  let depth = 0;
  for (let next = at; next < text.length; next++) {
    if (text[next] === "(") depth++;
    else if (text[next] === ")" && --depth === 0) return next + 1;
  }
  return text.length;
}
