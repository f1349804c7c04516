/** Adding up Kubernetes quantities: exact, and written in the shortest form that loses nothing. */

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Powers of a thousand from nano upwards. */
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Quantities know nothing finer than nano. */
const NANO = 10n ** 9n;

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([KMGTPE]i)|([numkMGTPE]))?$/;

/** The sum, in the manner (binary or decimal) of the first. What is not a quantity counts nothing. */
export function sumOfQuantities(quantities: readonly (string | number)[]): string {
  const texts = quantities.map(String);
  const total = texts.reduce((sum, text) => sum + nanos(text), 0n);
  return /[KMGTPE]i$/.test(texts[0] ?? "") && total % NANO === 0n ? binaryText(total / NANO) : decimalText(total);
}

function nanos(text: string): bigint {
  const match = QUANTITY.exec(text);
  if (!match) return 0n;
  const [, sign, whole = "", fraction = "", exponent, binary, decimal] = match;
  if (whole === "" && fraction === "") return 0n;
  const digits = BigInt(whole + fraction || "0");
  const scale = 10n ** BigInt(fraction.length);
  const value = divideUp(digits * NANO * multiplier(exponent, binary, decimal), scale * divisor(exponent, decimal));
  return sign === "-" ? -value : value;
}

function multiplier(exponent?: string, binary?: string, decimal?: string): bigint {
  if (binary) return 1024n ** BigInt(BINARY.indexOf(binary));
  const power = exponent ? Number(exponent.slice(1)) : decimal ? (DECIMAL.indexOf(decimal) - 3) * 3 : 0;
  return power > 0 ? 10n ** BigInt(Math.min(power, 30)) : 1n;
}

function divisor(exponent?: string, decimal?: string): bigint {
  const power = exponent ? Number(exponent.slice(1)) : decimal ? (DECIMAL.indexOf(decimal) - 3) * 3 : 0;
  return power < 0 ? 10n ** BigInt(Math.min(-power, 30)) : 1n;
}

/** Kubernetes rounds up what is finer than nano, so that nothing becomes nothing. */
function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

function binaryText(value: bigint): string {
  let rest = value;
  let power = 0;
  while (rest !== 0n && rest % 1024n === 0n && power < BINARY.length - 1) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${BINARY[power]}`;
}

function decimalText(value: bigint): string {
  if (value === 0n) return "0";
  let rest = value;
  let power = 0;
  while (rest % 1000n === 0n && power < DECIMAL.length - 1) {
    rest /= 1000n;
    power++;
  }
  return `${rest}${DECIMAL[power]}`;
}
